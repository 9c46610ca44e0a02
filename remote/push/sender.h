// Works on a spool, step by step: turns recordings into pieces, drops what exceeds the size limit,
// sends the oldest piece.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "remote/push/spool.h"
#include "remote/push/store.h"
#include "symbolizer/symbolizer.h"

namespace sampan::push {

using Clock = std::chrono::steady_clock;

// The delay before the next attempt: doubled after each failure, up to a minute, and randomized so
// that a fleet does not retry at the same time.
class Backoff {
 public:
  using Duration = std::chrono::milliseconds;
  static constexpr Duration kFirst{1'000}, kLongest{60'000};
  // The maximum for Retry-After.
  static constexpr Duration kMaxRetryAfter{3'600'000};

  explicit Backoff(unsigned seed) : random_(seed) {}

  // `asked_s`: Retry-After in seconds; 0: not given.
  Duration failed(uint64_t asked_s) {
    std::uniform_real_distribution<double> part(0.5, 1);
    const Duration wait(static_cast<int64_t>(static_cast<double>(next_.count()) * part(random_)));
    next_ = std::min(2 * next_, kLongest);
    const auto most_s = static_cast<uint64_t>(kMaxRetryAfter.count()) / 1000;
    return std::max(wait, Duration(1000 * std::min(asked_s, most_s)));
  }
  void succeeded() { next_ = kFirst; }

 private:
  std::minstd_rand random_;
  Duration next_ = kFirst;
};

// Totals of this process. Refused pieces are in the spool's `refused`; dropped ones are deleted.
struct Counts {
  size_t sent = 0, refused = 0, dropped = 0;
};

struct SendOptions {
  Destination destination;
  Access access;
  uint64_t spool_bytes = uint64_t{256} << 20;
  symbolizer::Options names;
  // Reports a sentence to the user.
  std::function<void(const std::string&)> say;
};

class Sender {
 public:
  Sender(Spool& spool, SendOptions options);

  // Does one step. Returns when to do the next one; nothing if there is nothing to do. When
  // `stopped` returns true it ends early, and undoes the unfinished step. Throws Error if the spool
  // cannot be used.
  std::optional<Clock::time_point> step(const std::function<bool()>& stopped);

  // Where modules can be opened that are not at their paths.
  void know(const std::vector<symbolizer::Substitute>& substitutes) {
    options_.names.substitutes = substitutes;
  }

  const Counts& counts() const { return counts_; }

 private:
  bool compose_next(const std::function<bool()>& stopped);
  void trim();
  std::optional<Clock::time_point> send_next(const std::function<bool()>& stopped);
  void say_once(const std::string& text);

  Spool& spool_;
  SendOptions options_;
  Backoff backoff_;
  Counts counts_;
  Clock::time_point not_before_{};     // the next attempt to send
  Clock::time_point compose_after_{};  // the next attempt to make pieces
  bool failing_ = false;               // the last attempt failed, and that was reported
  std::set<std::string> said_;
};

}  // namespace sampan::push
