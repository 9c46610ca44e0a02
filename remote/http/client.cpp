#include "http/client.h"

#include <sys/socket.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "http/client_library.h"

namespace sampan::http {
namespace {

struct Receiver {
  std::string body;
  size_t most;
  bool too_large = false;
};

size_t receive(char* data, size_t size, size_t count, void* context) {
  Receiver& receiver = *static_cast<Receiver*>(context);
  const size_t bytes = size * count;
  if (bytes > receiver.most - receiver.body.size()) {
    receiver.too_large = true;
    return 0;
  }
  receiver.body.append(data, bytes);
  return bytes;
}

struct Free {
  void operator()(CURL* handle) const { libcurl().cleanup(handle); }
  void operator()(curl_slist* list) const { libcurl().slist_free_all(list); }
};

using Headers = std::unique_ptr<curl_slist, Free>;

void add(Headers* headers, const std::string& line) {
  curl_slist* const all = libcurl().slist_append(headers->get(), line.c_str());
  if (all == nullptr) throw std::bad_alloc();
  static_cast<void>(headers->release());
  headers->reset(all);
}

int progress(void* context, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return (*static_cast<const std::function<bool()>*>(context))() ? 1 : 0;
}

// A program that is started meanwhile must not inherit it.
curl_socket_t open_socket(void*, curlsocktype, curl_sockaddr* address) {
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

const char* variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

// The program curl looks at these variables, its library does not.
void trust(CURL* curl, const std::string& ca_file) {
  const char* const bundle = variable("CURL_CA_BUNDLE");
  const char* const directory = variable("SSL_CERT_DIR");
  const char* const file = variable("SSL_CERT_FILE");
  if (!ca_file.empty()) {
    libcurl().setopt(curl, CURLOPT_CAINFO, ca_file.c_str());
  } else if (bundle != nullptr) {
    libcurl().setopt(curl, CURLOPT_CAINFO, bundle);
  } else {
    if (directory != nullptr) libcurl().setopt(curl, CURLOPT_CAPATH, directory);
    if (file != nullptr) libcurl().setopt(curl, CURLOPT_CAINFO, file);
  }
}

}  // namespace

std::string shown(std::string_view url) {
  url = url.substr(0, url.find_first_of("?#"));
  const size_t scheme = url.find("://");
  const size_t host = scheme == url.npos ? 0 : scheme + 3;
  const size_t at = url.substr(0, url.find('/', host)).rfind('@');
  if (at == url.npos || at < host) return std::string(url);
  return std::string(url.substr(0, host)) + std::string(url.substr(at + 1));
}

Answer fetch(const Call& call) {
  static const CURLcode ready = libcurl().global_init(CURL_GLOBAL_DEFAULT);
  const std::unique_ptr<CURL, Free> handle(ready == CURLE_OK ? libcurl().init() : nullptr);
  if (!handle) throw Error("{}: libcurl cannot be used", shown(call.url));
  CURL* const curl = handle.get();
  Headers headers;
  for (const std::string& line : call.headers) add(&headers, line);
  if (!call.bearer_token.empty()) add(&headers, "Authorization: Bearer " + call.bearer_token);

  Receiver receiver{.body = {}, .most = call.most_bytes};
  char reason[CURL_ERROR_SIZE] = "";
  libcurl().setopt(curl, CURLOPT_URL, call.url.c_str());
  libcurl().setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  libcurl().setopt(curl, CURLOPT_CUSTOMREQUEST, call.method.c_str());
  if (!call.body.empty() || call.method == "POST") {
    libcurl().setopt(curl, CURLOPT_POSTFIELDS, call.body.data());
    libcurl().setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(call.body.size()));
  }
  libcurl().setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  libcurl().setopt(curl, CURLOPT_USERAGENT, "sampan");
  libcurl().setopt(curl, CURLOPT_NOSIGNAL, 1L);
  libcurl().setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, call.connect_ms);
  libcurl().setopt(curl, CURLOPT_TIMEOUT_MS, call.whole_ms);
  libcurl().setopt(curl, CURLOPT_WRITEFUNCTION, receive);
  libcurl().setopt(curl, CURLOPT_WRITEDATA, &receiver);
  libcurl().setopt(curl, CURLOPT_ERRORBUFFER, reason);
  libcurl().setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_socket);
  trust(curl, call.ca_file);
  if (call.stopped) {
    libcurl().setopt(curl, CURLOPT_NOPROGRESS, 0L);
    libcurl().setopt(curl, CURLOPT_XFERINFOFUNCTION, progress);
    libcurl().setopt(curl, CURLOPT_XFERINFODATA, &call.stopped);
    libcurl().setopt(curl, CURLOPT_QUICK_EXIT, 1L);  // it does not wait for a name server either
  }

  const CURLcode code = libcurl().perform(curl);
  if (receiver.too_large) {
    throw Error("{}: the answer is larger than {} bytes", shown(call.url), call.most_bytes);
  }
  if (code != CURLE_OK) {
    throw Error("{}: {}", shown(call.url), reason[0] != '\0' ? reason : libcurl().strerror(code));
  }
  Answer answer;
  libcurl().getinfo(curl, CURLINFO_RESPONSE_CODE, &answer.status);
  curl_off_t retry_after_s = 0;
  libcurl().getinfo(curl, CURLINFO_RETRY_AFTER, &retry_after_s);
  if (retry_after_s > 0) answer.retry_after_s = static_cast<uint64_t>(retry_after_s);
  answer.body = std::move(receiver.body);
  return answer;
}

}  // namespace sampan::http
