#include "sampler/waits/waiting_thread.h"

#include <algorithm>
#include <utility>

namespace sampan::sampler {
namespace {

// An idle thread is looked at again after a quarter of the time that it has been idle, so at most
// that share of a wait is taken for the next one.
constexpr uint64_t kIdleShare = 4;
constexpr uint64_t kLongestPause = 250'000'000;

}  // namespace

// How much of the time since the latest look it waited.
int64_t WaitingThread::pass(MonotonicNs now_ns, const RunTimes& times) {
  const uint64_t queued_ns = std::min(times.queued_ns - times_.queued_ns, now_ns - queue_since_ns_);
  if (times != times_) queue_since_ns_ = looked_ns_;
  const uint64_t busy_ns = times.cpu_ns - times_.cpu_ns + queued_ns;
  runnable_ns_ += queued_ns;
  const auto waited_ns = static_cast<int64_t>(now_ns - looked_ns_ - busy_ns);
  looked_ns_ = now_ns;
  times_ = times;
  return waited_ns;
}

void WaitingThread::stayed(MonotonicNs now_ns) {
  waited_ns_ += pass(now_ns, times_);
  queue_since_ns_ = now_ns;
  next_ns_ = now_ns + std::min((now_ns - since_ns_) / kIdleShare, kLongestPause);
}

Waited WaitingThread::moved(MonotonicNs now_ns, const RunTimes& times,
                            const std::optional<WaitPlace>& place) {
  const MonotonicNs before_ns = looked_ns_;
  const int64_t waited_ns = pass(now_ns, times);
  const int64_t earlier_ns = !place_ ? 0 : place ? waited_ns / 2 : waited_ns;
  waited_ns_ += earlier_ns;
  Waited result;
  if (place_) {
    result = take_at(before_ns + static_cast<uint64_t>(std::max<int64_t>(earlier_ns, 0)));
  }
  waited_ns_ += waited_ns - earlier_ns;
  place_ = place;
  if (place) {
    last_place_ = place;
    queue_since_ns_ = now_ns;
  }
  since_ns_ = next_ns_ = now_ns;
  return result;
}

Waited WaitingThread::ended(MonotonicNs now_ns, const std::optional<RunTimes>& times) {
  // Without times it is gone. Nobody knows what it did since the latest look, but a thread that
  // waited then most likely waited on.
  if (times || place_) waited_ns_ += pass(now_ns, times.value_or(times_));
  return take_at(now_ns);
}

Waited WaitingThread::take() {
  return take_at(looked_ns_);
}

Waited WaitingThread::take_at(MonotonicNs time_ns) {
  written_ns_ = time_ns;
  if (waited_ns_ <= 0) return {};
  return {time_ns, static_cast<uint64_t>(std::exchange(waited_ns_, 0))};
}

uint64_t WaitingThread::take_runnable(uint64_t at_least_ns) {
  return runnable_ns_ < at_least_ns ? 0 : std::exchange(runnable_ns_, 0);
}

}  // namespace sampan::sampler
