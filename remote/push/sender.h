// What is done with a spool, one step after the other: recordings become pieces, what is too much
// is dropped, the oldest piece is sent.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "push/backoff.h"
#include "push/delivery.h"
#include "push/destination.h"
#include "push/spool.h"
#include "symbolizer/symbolizer.h"

namespace sampan::push {

using Clock = std::chrono::steady_clock;

// Since it began. What was refused is in the spool's `refused`, and what was dropped is nowhere.
struct Counts {
  size_t sent = 0, refused = 0, dropped = 0;
};

struct SendOptions {
  Destination destination;
  Access access;
  uint64_t spool_bytes = uint64_t{256} << 20;
  symbolizer::Options names;
  // Says a sentence to the person.
  std::function<void(const std::string&)> say;
};

class Sender {
 public:
  Sender(Spool& spool, SendOptions options);

  // One step. Returns when the next one makes sense; nothing: there is nothing to do. When
  // `stopped` says so it ends early, and what it was doing is undone. Throws Error where the spool
  // cannot be used.
  std::optional<Clock::time_point> step(const std::function<bool()>& stopped);

  // Where modules can be opened whose paths do not name them.
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
  Clock::time_point not_before_{};     // the next try to send
  Clock::time_point compose_after_{};  // the next try to make pieces
  bool failing_ = false;               // the last try, and somebody was told
  std::set<std::string> said_;
};

}  // namespace sampan::push
