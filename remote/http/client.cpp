#include "remote/http/client.h"

#include <curl/curl.h>
#include <sys/socket.h>

#include <cctype>
#include <cstdlib>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/late_library.h"

namespace sampan::http {
namespace {

// The functions of libcurl, which is loaded late: it brings some thirty libraries with it.
struct Curl {
  LateLibrary library{"libcurl.so.4", "libcurl4", "libcurl"};
  decltype(curl_global_init)* global_init = library["curl_global_init"];
  decltype(curl_easy_init)* init = library["curl_easy_init"];
  decltype(curl_easy_cleanup)* cleanup = library["curl_easy_cleanup"];
  decltype(curl_easy_setopt)* setopt = library["curl_easy_setopt"];
  decltype(curl_easy_perform)* perform = library["curl_easy_perform"];
  decltype(curl_easy_getinfo)* getinfo = library["curl_easy_getinfo"];
  decltype(curl_easy_strerror)* strerror = library["curl_easy_strerror"];
  decltype(curl_easy_escape)* escape = library["curl_easy_escape"];
  decltype(curl_easy_unescape)* unescape = library["curl_easy_unescape"];
  decltype(curl_free)* free = library["curl_free"];
  decltype(curl_slist_append)* slist_append = library["curl_slist_append"];
  decltype(curl_slist_free_all)* slist_free_all = library["curl_slist_free_all"];
};

// Throws Error if it cannot be loaded.
const Curl& libcurl() {
  static const Curl library;
  return library;
}

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
  void operator()(char* text) const { libcurl().free(text); }
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

// Programs that are started meanwhile must not inherit the socket.
curl_socket_t open_socket(void*, curlsocktype, curl_sockaddr* address) {
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

const char* variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

// The program curl reads these variables, but its library does not.
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

std::string percent_encoded(std::string_view text) {
  if (text.empty()) return "";  // libcurl takes the size 0 for that of a C string
  const std::unique_ptr<char, Free> encoded(
      libcurl().escape(nullptr, text.data(), static_cast<int>(text.size())));
  if (!encoded) throw std::bad_alloc();
  return encoded.get();
}

std::optional<std::string> percent_decoded(std::string_view text) {
  if (text.empty()) return "";
  const auto is_digit = [&](size_t i) {
    return i < text.size() && std::isxdigit(static_cast<unsigned char>(text[i]));
  };
  for (size_t at = text.find('%'); at != text.npos; at = text.find('%', at + 1)) {
    if (!is_digit(at + 1) || !is_digit(at + 2)) return std::nullopt;  // libcurl would keep it
  }
  int size = 0;
  const std::unique_ptr<char, Free> decoded(
      libcurl().unescape(nullptr, text.data(), static_cast<int>(text.size()), &size));
  if (!decoded) throw std::bad_alloc();
  return std::string(decoded.get(), static_cast<size_t>(size));
}

std::string printable_url(std::string_view url) {
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
  if (!handle) throw Error("{}: libcurl cannot be used", printable_url(call.url));
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
    libcurl().setopt(curl, CURLOPT_QUICK_EXIT, 1L);  // does not wait for name resolution either
  }

  const CURLcode code = libcurl().perform(curl);
  if (receiver.too_large) {
    throw Error("{}: the answer is larger than {} bytes", printable_url(call.url), call.most_bytes);
  }
  if (code != CURLE_OK) {
    throw Error("{}: {}", printable_url(call.url),
                reason[0] != '\0' ? reason : libcurl().strerror(code));
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
