// The meaning of words of the command line: times and rates with units, and addresses. A refusal
// says what is allowed.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>

#include "base/units.h"

namespace sampan::cli {

// 30 years: the difference to 2^60 ns leaves room for sums.
inline constexpr uint64_t kLongestTime = 1'000'000'000 * kNsPerSecond;

struct TimeRange {
  uint64_t least_ns = kNsPerMs;
  uint64_t most_ns = kLongestTime;
  uint64_t plain_ns = kNsPerSecond;  // what a number without a unit counts
  const char* allowed = "a time such as 10, 500ms or 2m";
};

// Throws UsageError, which names `option`.
uint64_t time_value(const std::string& option, const std::string& text,
                    const TimeRange& range = {});
unsigned rate_value(const std::string& option, const std::string& text);

// --heap BYTES and --locks TIME; "on" is the usual value, "off" is 0.
uint64_t heap_mean_value(const std::string& option, const std::string& text);
uint64_t lock_limit_value(const std::string& option, const std::string& text);

// The URL of a `sampan serve` that `word` names: a URL, or "HOST:PORT". "" if it names something else.
std::string served_url(const std::string& word);

// `names`: "-d,--duration". `set` gets nanoseconds.
CLI::Option* add_time_option(CLI::App& command, const std::string& names,
                             const std::string& description, std::function<void(uint64_t)> set,
                             const TimeRange& range = {});

}  // namespace sampan::cli
