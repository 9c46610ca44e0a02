// Modules come and go.
//
// dlopen and dlmopen are not interposed: the loader searches by who calls it (RUNPATH, $ORIGIN, the namespace), and that is to
// be the program. It gives notice all the same: the _init of a library, which crti.o begins, calls __gmon_start__ where
// somebody has it. That is meant for programs built with -pg. The library is in the loader's list by then, with all that it
// needs, and before its constructors run. A library without crti.o, or in a program built with -pg, which has a __gmon_start__ of its
// own, is found when the next one comes or goes, and at the latest when the program ends or executes another one.

#include <dlfcn.h>
#include <time.h>

#include "base/syscall.h"
#include "preload/modules/modules.h"
#include "preload/process/process.h"
#include "preload/python/interpreter.h"
#include "preload/samples/sample.h"
#include "preload/support/interpose.h"
#include "preload/threads/threads.h"

namespace sampan::preload {
namespace {

// A walk takes microseconds, but its thread may have lost its CPU. A thread that is stopped for more
// than two seconds (a debugger) is not waited for.
constexpr unsigned kYields = 100;
constexpr unsigned kPauses = 2'000;
constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 1'000'000};

std::atomic<unsigned> under_way;
thread_local unsigned under_way_here;

void wait_for_walk(const ThreadState& thread) {
  for (unsigned i = 0; i < kYields + kPauses; ++i) {
    if (!thread.samples.walking.load()) return;
    if (i < kYields) {
      raw_syscall(SYS_sched_yield);
    } else {
      raw_syscall(SYS_nanosleep, &kPause, nullptr);
    }
  }
}

// Used around a call that may unmap a module: no stack may be walked through it at that moment. While
// this exists, handlers walk with cached rows and read no module. The constructor waits for handlers
// that are reading one.
class Unloading {
 public:
  Unloading() {
    ++under_way;
    ++under_way_here;
    walker.begin_unload();
    for_each_thread([](ThreadState& thread) { wait_for_walk(thread); });
  }
  ~Unloading() {
    walker.end_unload();
    --under_way_here;
    --under_way;
  }
  Unloading(const Unloading&) = delete;
  Unloading& operator=(const Unloading&) = delete;
};

}  // namespace

void unloading_after_fork() {
  const auto gone = static_cast<uint32_t>(under_way.load() - under_way_here);
  under_way -= gone;
  walker.after_fork(gone);
}

}  // namespace sampan::preload

// NOLINTNEXTLINE(bugprone-reserved-identifier): crti.o names it
SAMPAN_EXPORT void __gmon_start__() {
  using namespace sampan::preload;
  if (active()) renew_modules();
}

SAMPAN_EXPORT int dlclose(void* handle) noexcept {
  using namespace sampan::preload;
  if (!active()) return SAMPAN_NEXT(dlclose)(handle);
  int result = 0;
  {
    const Unloading unloading;
    result = SAMPAN_NEXT(dlclose)(handle);
    forget_unloaded_interpreter();
    renew_modules();
  }
  return result;
}
