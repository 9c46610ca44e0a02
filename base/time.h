// Points in time, by the clock that tells them. A value of one clock is not taken for one of another:
// it takes a conversion. There are two: SessionClock::at, and Session::unix_time (base/session.h).
// A point plus or minus a number is a point. The difference of two points is a number of
// nanoseconds, and so is CPU that was used up (weights, costs).
//
// A constant becomes any of them by itself, which tests use; other numbers by `at`. Reading one as a
// number needs nothing. They cost nothing.
//
// Freestanding: linked into the target.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace sampan {

template <typename Clock>
class TimePoint {
 public:
  constexpr TimePoint() = default;
  consteval TimePoint(uint64_t ns) : ns_(ns) {}
  static constexpr TimePoint at(uint64_t ns) {
    TimePoint point;
    point.ns_ = ns;
    return point;
  }
  template <typename Other>
  static TimePoint at(TimePoint<Other>) = delete;
  constexpr operator uint64_t() const { return ns_; }
  // So much earlier, but not before 0.
  constexpr TimePoint earlier(uint64_t ns) const { return at(ns < ns_ ? ns_ - ns : 0); }
  // 0 if `other` is later.
  constexpr uint64_t since(TimePoint other) const { return earlier(other.ns_).ns_; }

  template <std::integral Duration>
  friend constexpr TimePoint operator+(TimePoint point, Duration ns) {
    return at(point.ns_ + static_cast<uint64_t>(ns));
  }
  template <std::integral Duration>
  friend constexpr TimePoint operator-(TimePoint point, Duration ns) {
    return at(point.ns_ - static_cast<uint64_t>(ns));
  }
  template <std::integral Duration>
  constexpr TimePoint& operator+=(Duration ns) {
    return *this = *this + ns;
  }
  template <std::integral Duration>
  constexpr TimePoint& operator-=(Duration ns) {
    return *this = *this - ns;
  }

 private:
  uint64_t ns_ = 0;
};

// Nanoseconds to the last digit that a double has, as seconds.
template <typename Ns>
constexpr double in_seconds(Ns ns) {
  return static_cast<double>(ns) / 1e9;
}

// CLOCK_MONOTONIC: of this machine since it was started; what the target and the kernel write.
using MonotonicNs = TimePoint<struct MonotonicClock>;
// Since the session began: what recordings, profiles and reports have.
using SessionNs = TimePoint<struct TimeOfSession>;
// CLOCK_REALTIME: since 1970.
using UnixNs = TimePoint<struct UnixClock>;
// The CPU clock of a thread or a process: what it has used since it began.
using CpuNs = TimePoint<struct CpuClock>;

// From the clock of the machine to the time of one session.
struct SessionClock {
  MonotonicNs start_ns = 0;

  // 0 for times before the start.
  SessionNs at(MonotonicNs time_ns) const { return SessionNs::at(time_ns.since(start_ns)); }
};

static_assert(sizeof(SessionNs) == sizeof(uint64_t));
static_assert(std::is_trivially_copyable_v<SessionNs>);

}  // namespace sampan
