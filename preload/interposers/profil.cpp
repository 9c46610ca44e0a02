// The C library's own profiler, of programs that are built with -pg, and others that count with SIGPROF. The library sets its
// handler by a call within itself, which comes through no function of ours: so sampling moves away before. It would take our
// signals for its own otherwise, and no sample would be taken.
#include <stddef.h>
#include <sys/profil.h>
#include <sys/time.h>

#include "preload/interposers/signal_action.h"
#include "preload/support/interpose.h"
#include "preload/threads/threads.h"

namespace sampan::preload {
namespace {

void leave_to_program(int signo) {
  if (!signals_active()) return;
  const SignalLock locked;
  if ((hidden_signals() & signal_bit(signo)) == 0) return;
  give_to_program(signal_bit(signo));
  drop_pending(signal_bit(signo));
}

}  // namespace
}  // namespace sampan::preload

using namespace sampan::preload;

using StartMonitor = void(unsigned long, unsigned long);
using ControlMonitor = void(int);

// Called by the beginning of such a program, after the constructors of its libraries. Both names are the C library's.
SAMPAN_EXPORT void __monstartup(unsigned long low, unsigned long high) {
  leave_to_program(SIGPROF);
  next<StartMonitor, "__monstartup">()(low, high);
}
SAMPAN_EXPORT void monstartup(unsigned long low, unsigned long high) {
  leave_to_program(SIGPROF);
  next<StartMonitor, "monstartup">()(low, high);
}
SAMPAN_EXPORT void moncontrol(int mode) {
  if (mode != 0) leave_to_program(SIGPROF);
  next<ControlMonitor, "moncontrol">()(mode);
}

// Null ends it, whatever the header says of the buffer.
using Profil = int(unsigned short*, size_t, size_t, unsigned);
SAMPAN_EXPORT Profil profil_by_ticks asm("profil");
int profil_by_ticks(unsigned short* buffer, size_t size, size_t offset, unsigned scale) {
  if (buffer != nullptr) leave_to_program(SIGPROF);
  return next<Profil, "profil">()(buffer, size, offset, scale);
}
SAMPAN_EXPORT int sprofil(struct prof* parts, int count, timeval* interval,
                          unsigned flags) noexcept {
  if (count != 0) leave_to_program(SIGPROF);
  return SAMPAN_NEXT(sprofil)(parts, count, interval, flags);
}

// Its signal is of use to a handler alone, and one that was set by an inline system call has not been seen.
SAMPAN_EXPORT int setitimer(__itimer_which_t which, const itimerval* wanted,
                            itimerval* before) noexcept {
  if (which == ITIMER_PROF && signals_active() && !owns_sampling_signal()) {
    leave_to_program(sampling_signal());
  }
  return SAMPAN_NEXT(setitimer)(which, wanted, before);
}
