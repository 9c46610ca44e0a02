#include "serve/access.h"

#include <algorithm>
#include <cctype>

#include "http/server.h"
#include "sampler/control_token.h"

namespace sampan::serve {
namespace {

constexpr std::string_view kSymbolPaths[] = {"/pprof/symbol", "/debug/pprof/symbol"};

bool same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

// RFC 6750, section 2.1; the scheme's name in any case.
std::string_view bearer(const http::Request& request) {
  std::string_view value = request.header("authorization");
  constexpr std::string_view kScheme = "Bearer ";
  if (!same_word(value.substr(0, kScheme.size()), kScheme)) return "";
  value.remove_prefix(kScheme.size());
  while (value.starts_with(' ')) value.remove_prefix(1);
  return value;
}

http::Response refused() {
  http::Response response = http::sentence(401, "");
  response.body = nullptr;
  response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

}  // namespace

bool is_loopback_name(std::string_view host) {
  const size_t bracket = host.find(']');  // of IPv6, which has colons itself
  host = host.substr(0, host.find(':', bracket != host.npos ? bracket : 0));
  if (host == "[::1]" || same_word(host, "localhost")) return true;
  // 127.0.0.0/8, and not "127.evil.example".
  return host.starts_with("127.") && host.find_first_not_of("0123456789.") == host.npos;
}

bool Access::knows_the_token(const http::Request& request) const {
  const bool by_header = sampler::same_token(token_, bearer(request));
  const bool by_query = sampler::same_token(token_, request.parameter("token").value_or(""));
  return by_header || by_query;
}

std::optional<http::Response> Access::refuse(const http::Request& request) const {
  if (!token_.empty()) {
    if (!knows_the_token(request)) return refused();
  } else if (request.headers.contains("host") && !is_loopback_name(request.header("host"))) {
    return http::sentence(403, "this server answers by the names of this machine's loopback only");
  }
  const bool asks_for_symbols =
      request.method == "POST" && std::ranges::count(kSymbolPaths, request.path) != 0;
  return asks_for_symbols ? std::nullopt : http::refuse_writing(request);
}

}  // namespace sampan::serve
