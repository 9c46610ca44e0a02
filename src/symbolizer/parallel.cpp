#include "symbolizer/parallel.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace sampan::symbolizer {

namespace {

using namespace std::chrono_literals;
constexpr auto kTick = 100ms;

void run_here(const std::vector<std::function<void()>>& jobs, const std::function<void()>& tick) {
  auto last = std::chrono::steady_clock::now();
  for (const std::function<void()>& job : jobs) {
    job();
    const auto now = std::chrono::steady_clock::now();
    if (!tick || now - last < kTick) continue;
    last = now;
    tick();
  }
}

}  // namespace

void run_parallel(const std::vector<std::function<void()>>& jobs, unsigned threads,
                  const std::function<void()>& tick) {
  if (threads <= 1 || jobs.size() <= 1) return run_here(jobs, tick);
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::condition_variable finished;
  size_t running = std::min<size_t>(threads, jobs.size());
  std::vector<std::jthread> workers;
  for (size_t i = running; i > 0; --i) {
    workers.emplace_back([&] {
      for (size_t job; (job = next++) < jobs.size();) jobs[job]();
      const std::lock_guard lock(mutex);
      --running;
      finished.notify_one();
    });
  }
  std::unique_lock lock(mutex);
  while (!finished.wait_for(lock, kTick, [&] { return running == 0; })) {
    lock.unlock();
    if (tick) tick();
    lock.lock();
  }
}

}  // namespace sampan::symbolizer
