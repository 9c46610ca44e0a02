// requests none|lock|slow REQUESTS: a server of one thread that marks what it does. All requests
// are the same, except that one in a hundred waits for a lock, or takes a slow path.
//
// Prints as JSON what it marked. It reads its clock around the marks, so each of its durations is at
// least as long as the span's. "queued": how long its two threads waited for a CPU.
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "sampan/markers.h"
#include "work.h"

namespace {

constexpr unsigned kOneIn = 100;
constexpr unsigned kLockMicroseconds = 20'000;
constexpr uint64_t kUsual = 1'500'000, kSlow = 20'000'000;  // steps: 2 and 30 ms

uint64_t value = 88172645463325252ull;

__attribute__((noinline)) void parse() {
  const sampan::Span span{"parse"};
  value = work::spin(value, kUsual / 5);
}

__attribute__((noinline)) void compute() {
  const sampan::Span span{"compute, \"fast\""};
  value = work::spin(value, kUsual);
}

__attribute__((noinline)) void slow_path() {
  value = work::spin(value, kSlow);
}

// Holds a lock for 20 ms whenever it is told to.
class Holder {
 public:
  Holder() : thread_([this] { run(); }) {}
  ~Holder() {
    ended_ = true;
    sem_post(&hold_);
    thread_.join();
  }
  double queued() const { return queued_; }
  __attribute__((noinline)) void take_lock() {
    sem_post(&hold_);
    sem_wait(&held_);
    const std::lock_guard lock(mutex_);
  }

 private:
  void run() {
    for (;;) {
      sem_wait(&hold_);
      if (ended_) return;
      const std::lock_guard lock(mutex_);
      sem_post(&held_);
      usleep(kLockMicroseconds);
      queued_ = work::queued();
    }
  }
  sem_t hold_ = [] {
    sem_t s;
    sem_init(&s, 0, 0);
    return s;
  }();
  sem_t held_ = [] {
    sem_t s;
    sem_init(&s, 0, 0);
    return s;
  }();
  std::mutex mutex_;
  bool ended_ = false;
  std::atomic<double> queued_ = 0;
  std::thread thread_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const bool lock = std::strcmp(argv[1], "lock") == 0, slow = std::strcmp(argv[1], "slow") == 0;
  const auto requests = static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10));
  Holder holder;
  std::vector<double> durations;
  for (unsigned i = 0; i < requests; ++i) {
    sampan_counter_set("queue/length", requests - i);
    const double begin = work::wall();
    {
      const sampan::Span span{"request"};
      parse();
      if (i % kOneIn == kOneIn / 2 && lock) holder.take_lock();
      if (i % kOneIn == kOneIn / 2 && slow) slow_path();
      compute();
    }
    durations.push_back(work::wall() - begin);
    if (i % 10 == 0) sampan_event("ten\nmore");
  }
  const auto [least, most] = std::minmax_element(durations.begin(), durations.end());
  double total = 0;
  for (const double duration : durations) total += duration;
  printf("{\"requests\": %u, \"total\": %.9f, \"max\": %.9f, \"min\": %.9f, \"value\": %d,\n",
         requests, total, *most, *least, value == 0);
  printf(" \"queued\": %.9f}\n", work::queued() + holder.queued());
  return 0;
}
