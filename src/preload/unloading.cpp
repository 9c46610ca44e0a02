#include "preload/unloading.h"

#include <time.h>

#include "base/syscall.h"
#include "preload/process.h"
#include "preload/threads.h"

namespace sampan::preload {
namespace {

// A walk takes microseconds, but its thread may have lost its CPU. One that is stopped for longer
// than two seconds (a debugger) is not waited for.
constexpr unsigned kYields = 100;
constexpr unsigned kPauses = 2'000;
constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 1'000'000};

std::atomic<unsigned> under_way;
thread_local unsigned under_way_here;

void wait_for_walk(const ThreadState& thread) {
  for (unsigned i = 0; i < kYields + kPauses; ++i) {
    if (!thread.walking.load()) return;
    if (i < kYields) {
      raw_syscall(SYS_sched_yield);
    } else {
      raw_syscall(SYS_nanosleep, &kPause, nullptr);
    }
  }
}

}  // namespace

Unloading::Unloading() {
  ++under_way;
  ++under_way_here;
  walker.begin_unload();
  for_each_thread([](ThreadState& thread) { wait_for_walk(thread); });
}

Unloading::~Unloading() {
  walker.end_unload();
  --under_way_here;
  --under_way;
}

void unloading_after_fork() {
  for (; under_way.load() > under_way_here; --under_way) walker.end_unload();
}

}  // namespace sampan::preload
