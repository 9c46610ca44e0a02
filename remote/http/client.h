// HTTP requests with libcurl, one at a time. Proxies (HTTPS_PROXY, NO_PROXY, …) and CA files
// (CURL_CA_BUNDLE, SSL_CERT_DIR, SSL_CERT_FILE) come from the environment, as with curl. Redirects
// are not followed, so a token is sent only to the address that was given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sampan::http {

struct Call {
  std::string url;  // http or https; user and password before "@" are used for basic authentication
  std::string method = "GET";
  std::vector<std::string> headers = {};  // "Name: value"
  std::string body = {};
  std::string bearer_token = {};
  size_t most_bytes = size_t{256} << 20;  // maximum size of an answer
  long connect_ms = 5'000;
  long whole_ms = 60'000;    // for the whole request
  std::string ca_file = {};  // PEM; overrides the environment and the system
  // Called from the same thread at least once a second; returns whether to give up.
  std::function<bool()> stopped = {};
};

struct Answer {
  long status = 0;
  std::string body;
  uint64_t retry_after_s = 0;  // from Retry-After; 0: not given
};

// Throws Error, with printable_url(), if no complete answer was received: no connection, timeout,
// too large. Status 400 and above are answers.
Answer fetch(const Call& call);

// The URL without user, password and query, which may be secrets.
std::string printable_url(std::string_view url);

// Percent-encoding (RFC 3986, 2.1), also by libcurl: encodes everything but letters, digits and
// "-._~". Both throw Error if libcurl cannot be loaded.
std::string percent_encoded(std::string_view text);
// None if a "%" is not followed by two hexadecimal digits.
std::optional<std::string> percent_decoded(std::string_view text);

}  // namespace sampan::http
