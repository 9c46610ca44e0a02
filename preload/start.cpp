// Where the shim begins: its constructor, in a process that the loader has put it into. Without
// SAMPAN=1, or when the session cannot be joined, it does nothing, and every interposer only
// forwards.
#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>

#include "base/syscall.h"
#include "preload/clock.h"
#include "preload/environment.h"
#include "preload/exit.h"
#include "preload/marker_functions.h"
#include "preload/modules.h"
#include "preload/process.h"
#include "preload/process_ring.h"
#include "preload/sampling_signal.h"
#include "preload/scan.h"
#include "preload/session.h"
#include "preload/standalone.h"
#include "preload/thread_life.h"
#include "preload/threads.h"
#include "wire/control_block.h"

namespace sampan::preload {
namespace {

// Whether this process came to life under a seccomp filter (a container, a service). Such a filter
// lets through what programs of all kinds call, and so what we call; but perf_event_open is what
// it is there to forbid, and some kill for it.
bool born_filtered() {
  const long fd = raw_syscall(SYS_open, "/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char text[4096];
  const long size = raw_syscall(SYS_read, fd, text, sizeof text - 1);
  raw_syscall(SYS_close, fd);
  if (size <= 0) return false;
  text[size] = '\0';
  const char* field = strstr(text, "\nSeccomp:\t");
  return field != nullptr && field[strlen("\nSeccomp:\t")] != '0';
}

// Our mappings are large, though hardly any of it is ever used. A program whose address space is
// limited may need it all.
bool has_address_space() {
  rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
  raw_syscall(SYS_prlimit64, 0, RLIMIT_AS, nullptr, &limit);
  return limit.rlim_cur / 8 >= wire::kSharedSize;
}

bool join() {
  if (!has_address_space()) return false;
  if (session_name() == nullptr && !start_collector()) return false;
  const Session session = join_session(session_name(), nullptr);
  if (session.shared == nullptr) return false;
  this_process.shared = session.shared;
  this_process.follow = session.follow;
  this_process.sections_only = session.sections_only;
  return true;
}

__attribute__((constructor)) void start() {
  Dl_info self;
  if (dladdr(reinterpret_cast<void*>(start), &self) == 0) return;
  read_environment(self.dli_fname);
  if (!enabled_by_environment() || !join()) return;
  start_process_ring();
  start_markers(markers_allowed());
  if (!start_process() || !walker.start() || !start_thread_life() || !start_modules()) {
    return;
  }
  start_clock(perf_allowed() && !born_filtered());
  if (!start_sampling_signal()) return;
  this_process.started.store(true, std::memory_order_release);
  start_exit();
  begin_main_thread();
  scan_threads();
}

}  // namespace
}  // namespace sampan::preload
