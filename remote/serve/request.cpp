#include "remote/serve/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/error.h"
#include "base/token_file.h"
#include "remote/http/server.h"

namespace sampan::serve {
namespace {

constexpr std::string_view kSymbolPaths[] = {"/pprof/symbol", "/debug/pprof/symbol"};

bool same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

// RFC 6750, section 2.1; the scheme is case-insensitive.
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

double number(std::string_view name, std::string_view text) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + text.size() || !(value > 0)) {
    throw Error("{}={}: must be a number of seconds, such as 5", name, text.substr(0, 40));
  }
  return value;
}

double seconds_asked(const http::Request& request, const Source& source,
                     const DefaultWindow& usual) {
  const auto asked = request.parameter("seconds");
  if (!asked) return source.is_live() && !request.parameter("last") ? usual.seconds : 0;
  if (!source.is_live()) {
    throw Error(
        "this is a recording, and nothing more will happen in it. last=N is its last N seconds");
  }
  if (request.parameter("last"))
    throw Error("use either seconds=N, from now on, or last=N, up to now");
  const double seconds = number("seconds", *asked);
  if (seconds > kMaxSeconds) throw Error("seconds={}: at most {:.0f}", *asked, kMaxSeconds);
  return seconds;
}

double last_asked(const http::Request& request, const Source& source, const DefaultWindow& usual) {
  const auto asked = request.parameter("last");
  if (!asked) return source.is_live() ? usual.last : 0;
  return std::min(number("last", *asked), 1e9);
}

uint64_t nanoseconds(double seconds) {
  return static_cast<uint64_t>(seconds * 1e9);
}

}  // namespace

bool is_loopback_name(std::string_view host) {
  const size_t bracket = host.find(']');  // an IPv6 address contains colons
  const size_t colon = host.find(':', bracket != host.npos ? bracket : 0);
  const std::string_view port = colon != host.npos ? host.substr(colon + 1) : "";
  if (port.find_first_not_of("0123456789") != port.npos) return false;
  host = host.substr(0, colon);
  if (host == "[::1]" || same_word(host, "localhost")) return true;
  // 127.0.0.0/8, and not "127.evil.example".
  return host.starts_with("127.") && host.find_first_not_of("0123456789.") == host.npos;
}

bool Access::knows_the_token(const http::Request& request) const {
  const bool by_header = same_token(token_, bearer(request));
  const bool by_query = same_token(token_, request.parameter("token").value_or(""));
  return by_header || by_query;
}

std::optional<http::Response> Access::refuse(const http::Request& request) const {
  if (!token_.empty()) {
    if (!knows_the_token(request)) return refused();
  } else if (request.headers.contains("host") && !is_loopback_name(request.header("host"))) {
    return http::sentence(403, "this server only answers to the loopback names of this machine");
  }
  const bool asks_for_symbols =
      request.method == "POST" && std::ranges::count(kSymbolPaths, request.path) != 0;
  return asks_for_symbols ? std::nullopt : http::refuse_writing(request);
}

Window window_of(const http::Request& request, Source& source, const DefaultWindow& usual) {
  Window window;
  const SessionNs now_ns = source.now_ns();
  if (const double seconds = seconds_asked(request, source, usual); seconds > 0) {
    window.from_ns = now_ns;
    window.wait_ns = nanoseconds(seconds);
    window.to_ns = now_ns + window.wait_ns;
    window.key = fmt::format("seconds={}", seconds);
  } else if (const double last = last_asked(request, source, usual); last > 0) {
    window.from_ns = now_ns.earlier(nanoseconds(last));
    window.to_ns = now_ns;
    window.key = fmt::format("last={}", last);
  }
  return window;
}

}  // namespace sampan::serve
