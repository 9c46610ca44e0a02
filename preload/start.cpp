// Where the shim begins: its constructor, in a process that the loader has put it into. Without
// SAMPAN=1, or when the session cannot be joined, it does nothing, and every interposer only
// forwards.
#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>

#include "base/guest.h"
#include "base/syscall.h"
#include "base/time_namespace.h"
#include "preload/clocks/clock.h"
#include "preload/handler.h"
#include "preload/interposers/blocking_calls.h"
#include "preload/interposers/confinement.h"
#include "preload/interposers/process_life.h"
#include "preload/interposers/signal_action.h"
#include "preload/markers/marker_functions.h"
#include "preload/modules/modules.h"
#include "preload/process/environment.h"
#include "preload/process/outside.h"
#include "preload/process/process.h"
#include "preload/process/session.h"
#include "preload/program_handler.h"
#include "preload/python/interpreter.h"
#include "preload/samples/sample.h"
#include "preload/signals/inherited_filter.h"
#include "preload/signals/sampling_signal.h"
#include "preload/support/loaded_symbols.h"
#include "preload/support/machine.h"
#include "preload/support/vdso.h"
#include "preload/threads/threads.h"
#include "preload/tracing/trace_request.h"
#include "wire/control_block.h"

namespace sampan::preload {
namespace {

// Without slots where the program's address space is too limited.
wire::MemoryShape permitted_shape() {
  rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
  raw_syscall(SYS_prlimit64, 0, RLIMIT_AS, nullptr, &limit);
  return {wire::slots_permitted(limit.rlim_cur), true};
}

bool join() {
  const wire::MemoryShape shape = permitted_shape();
  if (shape.slots == 0) return false;
  if (session_name() == nullptr && !start_collector()) return false;
  const Session session = join_session(session_name(), {shape, nullptr, false});
  if (session.shared == nullptr) return false;
  this_process.shared = session.shared;
  this_process.shape = session.shape;
  this_process.follow = session.follow;
  this_process.sections_only = session.sections_only;
  this_process.python = session.python;
  this_process.perf = session.perf;
  this_process.waits_at_end = session.waits_at_end;
  remember_network();
  return true;
}

void start_shim() {
  const link_map* const self = own_module();
  if (self == nullptr) return;
  find_vdso();
  find_this_pthread();
  read_environment(self->l_name);
  if (!enabled_by_environment()) return;
  const Inherited inherited = inherited_filter();
  if (inherited == Inherited::kForbidsJoining) return;
  start_confinement();
  if (inherited != Inherited::kForbidsSamples) follow_time_namespace();
  if (!join()) return;
  start_process_ring();
  start_markers(markers_allowed() && this_process.shape.markers);
  find_heap();
  find_markers_by([] {
    ThreadState* thread = current_thread();
    return thread != nullptr ? &thread->markers : nullptr;
  });
  if (!start_threads() || !start_fork() ||
      !walker.start(reinterpret_cast<unwind::FindObject*>(global_symbol("_dl_find_object"))) ||
      !start_thread_life() || !start_modules()) {
    return;
  }
  const bool perf = this_process.perf && inherited == Inherited::kNothing;
  start_clocks(perf, fast_clock_always());
  look_up_signal_functions();
  look_up_blocking_calls();
  constexpr KernelHandlers kHandlers{sampling_handler, program_handlers};
  if (!start_sampling_signal(kHandlers, drum_clock::highest_rate_hz() != 0)) {
    drum_clock::forbid(true);
    if (!start_sampling_signal(kHandlers, false)) return;
  }
  this_process.started.store(true, std::memory_order_release);
  if (inherited == Inherited::kForbidsSamples) forbid_samples();
  read_trace_key(trace_key_file());
  find_module(first_module(), [](const link_map& module) {
    find_interpreter(SymbolTable(module));
    return false;
  });
  start_exit();
  begin_main_thread();
  scan_threads();
}

bool is_emulator() {
  char path[PATH_MAX];
  const long size = raw_syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", path, sizeof path - 1);
  path[size > 0 ? size : 0] = '\0';
  return is_user_emulator(path);
}

// In a program that valgrind runs, the shim is not the kernel's guest but valgrind's: it stays out.
__attribute__((constructor)) void start() {
  if (!runs_in_valgrind()) start_shim();
  if (start_wrappers != nullptr) start_wrappers();
  if (is_emulator()) hide_from_guest();
}

}  // namespace
}  // namespace sampan::preload
