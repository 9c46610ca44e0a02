// A server that mostly waits: idlers THREADS BUSY SECONDS. BUSY of the threads compute, the others
// wait for a condition variable. Prints how often the waiting ones got a CPU, from second 1 to the
// end.
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

std::mutex mutex;
std::condition_variable over;
bool is_over = false;
std::vector<pid_t> waiting;

void wait() {
  std::unique_lock lock(mutex);
  waiting.push_back(gettid());
  over.wait(lock, [] { return is_over; });
}

// The third number of schedstat: how often the thread got a CPU.
long turns_of(pid_t tid) {
  std::ifstream file("/proc/self/task/" + std::to_string(tid) + "/schedstat");
  long cpu = 0, queued = 0, turns = 0;
  file >> cpu >> queued >> turns;
  return turns;
}

long turns_of_all() {
  std::scoped_lock lock(mutex);
  long turns = 0;
  for (const pid_t tid : waiting) turns += turns_of(tid);
  return turns;
}

void compute(std::chrono::steady_clock::time_point end) {
  while (std::chrono::steady_clock::now() < end) {
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const int threads = std::atoi(argv[1]), busy = std::atoi(argv[2]);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoi(argv[3]));
  std::vector<std::thread> pool;
  for (int i = 0; i < threads - busy; ++i) pool.emplace_back(wait);
  for (int i = 0; i < busy; ++i) pool.emplace_back(compute, end);
  std::this_thread::sleep_for(std::chrono::seconds(1));  // until they have begun to wait
  long turns = -turns_of_all();
  for (int i = threads - busy; i < threads; ++i) pool[static_cast<size_t>(i)].join();
  turns += turns_of_all();
  {
    std::scoped_lock lock(mutex);
    is_over = true;
  }
  over.notify_all();
  for (int i = 0; i < threads - busy; ++i) pool[static_cast<size_t>(i)].join();
  std::printf("%ld\n", turns);
}
