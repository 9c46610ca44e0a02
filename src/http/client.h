// One HTTP request at a time, by libcurl: proxies (HTTPS_PROXY, NO_PROXY, …) and CA files
// (CURL_CA_BUNDLE, SSL_CERT_DIR, SSL_CERT_FILE) as curl takes them from the environment. No
// redirect is followed, so that a token goes where it was meant to go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sampan::http {

struct Call {
  std::string url;  // http or https; what is before "@" of its host is for basic authentication
  std::string method = "GET";
  std::vector<std::string> headers = {};  // "Name: value"
  std::string body = {};
  std::string bearer_token = {};
  size_t most_bytes = size_t{256} << 20;  // of an answer
  long connect_ms = 5'000;
  long whole_ms = 60'000;    // from the beginning to the last byte
  std::string ca_file = {};  // PEM, instead of what the environment or the system has
  // Asked from this thread now and then, at least once a second: whether to give up.
  std::function<bool()> stopped = {};
};

struct Answer {
  long status = 0;
  std::string body;
  uint64_t retry_after_s = 0;  // 0: the server does not say
};

// Throws Error, naming the address as shown() does, where there was no whole answer: nobody is
// there, it took too long, it was too large. A status of 400 and more is an answer.
Answer fetch(const Call& call);

// The address without its user, password and query: they may be secrets.
std::string shown(std::string_view url);

}  // namespace sampan::http
