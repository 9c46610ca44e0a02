#include "cli/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>

#include "base/clock.h"

namespace sampan::cli {
namespace {

constexpr uint64_t kPatience = 1'000'000'000;
constexpr uint64_t kInterval = 100'000'000;
constexpr const char* kClearLine = "\r\x1b[K";

}  // namespace

Progress::Progress()
    : terminal_(isatty(STDERR_FILENO) == 1), next_ns_(monotonic_ns() + kPatience) {}

Progress::~Progress() {
  if (shown_) fmt::print(stderr, "{}", kClearLine);
}

void Progress::show(const std::string& what, size_t done, size_t all) {
  if (is_due()) print(fmt::format("{}: {} of {}", what, done, all));
}

void Progress::show(const std::string& what) {
  if (is_due()) print(what);
}

bool Progress::is_due() {
  return terminal_ && monotonic_ns() >= next_ns_;
}

void Progress::print(const std::string& line) {
  fmt::print(stderr, "{}{}", kClearLine, line);
  std::fflush(stderr);
  shown_ = true;
  next_ns_ = monotonic_ns() + kInterval;
}

}  // namespace sampan::cli
