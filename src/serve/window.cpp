#include "serve/window.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"

namespace sampan::serve {
namespace {

double number(std::string_view name, std::string_view text) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + text.size() || !(value > 0)) {
    throw Error("{}={}: a number of seconds, such as 5", name, text.substr(0, 40));
  }
  return value;
}

double seconds_asked(const http::Request& request, const Source& source, const UsualWindow& usual) {
  const auto asked = request.parameter("seconds");
  if (!asked) return source.is_live() && !request.parameter("last") ? usual.seconds : 0;
  if (!source.is_live()) {
    throw Error(
        "this is a recording: nothing more will happen in it. last=N is its last N seconds");
  }
  if (request.parameter("last")) throw Error("either seconds=N, from now on, or last=N, up to now");
  const double seconds = number("seconds", *asked);
  if (seconds > kMostSeconds) throw Error("seconds={}: at most {:.0f}", *asked, kMostSeconds);
  return seconds;
}

double last_asked(const http::Request& request, const Source& source, const UsualWindow& usual) {
  const auto asked = request.parameter("last");
  if (!asked) return source.is_live() ? usual.last : 0;
  return std::min(number("last", *asked), 1e9);
}

uint64_t nanoseconds(double seconds) {
  return static_cast<uint64_t>(seconds * 1e9);
}

}  // namespace

Window window_of(const http::Request& request, Source& source, const UsualWindow& usual) {
  Window window;
  const uint64_t now_ns = source.now_ns();
  if (const double seconds = seconds_asked(request, source, usual); seconds > 0) {
    window.from_ns = now_ns;
    window.wait_ns = nanoseconds(seconds);
    window.to_ns = now_ns + window.wait_ns;
    window.key = fmt::format("seconds={}", seconds);
  } else if (const double last = last_asked(request, source, usual); last > 0) {
    window.from_ns = now_ns - std::min(now_ns, nanoseconds(last));
    window.to_ns = now_ns;
    window.key = fmt::format("last={}", last);
  }
  return window;
}

}  // namespace sampan::serve
