// How long to wait before the next try: twice as long after each that failed, up to a minute, and a
// random part of it, so that a fleet does not come back all at once.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>

namespace sampan::push {

class Backoff {
 public:
  using Duration = std::chrono::milliseconds;
  static constexpr Duration kFirst{1'000}, kLongest{60'000};
  // What a server asks for is heeded up to here.
  static constexpr Duration kMostAsked{3'600'000};

  explicit Backoff(unsigned seed) : random_(seed) {}

  // `asked_s`: what the server said by Retry-After, in seconds; 0: nothing.
  Duration failed(uint64_t asked_s) {
    std::uniform_real_distribution<double> part(0.5, 1);
    const Duration wait(static_cast<int64_t>(static_cast<double>(next_.count()) * part(random_)));
    next_ = std::min(2 * next_, kLongest);
    const auto most_s = static_cast<uint64_t>(kMostAsked.count()) / 1000;
    return std::max(wait, Duration(1000 * std::min(asked_s, most_s)));
  }
  void succeeded() { next_ = kFirst; }

 private:
  std::minstd_rand random_;
  Duration next_ = kFirst;
};

}  // namespace sampan::push
