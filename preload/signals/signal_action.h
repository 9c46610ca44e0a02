// What the kernel has of the program's signal handlers. Their masks must not block a hidden signal. Where they see a frame
// (SA_SIGINFO), the kernel has a handler of ours, which calls the program's, so that the frame has the program's mask
// (handler_view.h). The program's actions are kept here. A signal that sampling uses or has used is shared: a handler of ours is
// there even if the program has none.
//
// Freestanding: linked into the target.
#pragma once

#include <signal.h>

#include <cstdint>

#include "preload/signals/sampling_signal.h"

namespace sampan::preload {

// struct sigaction as the kernel has it; zeroes are the default action.
struct KernelAction {
  uintptr_t handler;
  uint64_t flags;
  uintptr_t restorer;
  uint64_t mask;
};

// What the kernel takes for the address of the call rt_sigreturn, by which our handler returns.
uint64_t signal_return_address();

// Start-up.
void handle_by(const KernelHandlers& handlers);
// Sampling uses the signal from now on.
void share_signal(int signo);
// Installs the kernel handler of a shared signal. SignalLock held.
void install_shared_handler(int signo);
// An action of the program's, for one call: SA_RESETHAND is carried out.
struct ProgramAction {
  SignalHandler handler;  // or SIG_DFL, SIG_IGN
  uint64_t blocked;       // while it runs
  uint64_t added;         // blocked by the kernel beyond that
  bool is(sighandler_t disposition) const {
    return reinterpret_cast<uintptr_t>(handler) == reinterpret_cast<uintptr_t>(disposition);
  }
};
// Async-signal-safe. `level`: how many were set later.
ProgramAction take_action(int signo, unsigned level);
// The kernel has a handler that the program has put over ours unseen. It may call what was there before. SignalLock held.
void note_unseen_handler(int signo, const struct sigaction& kernel);
bool has_replaced_handlers(int signo);
// Where a handler returns to that the kernel has called.
uint64_t handler_return_address();

// The kernel's own default action, from now on. Async-signal-safe.
void set_default_action(int signo);
bool has_default_action(int signo);
// Whether the kernel calls our handler for the signal. The program may have changed that by a system
// call that nothing here has seen. Async-signal-safe.
bool has_our_action(int signo);

// The original sigaction; the action that it gives is the kernel's.
int kernel_action(int signo, const struct sigaction* wanted, struct sigaction* before);
// What the program set, where the kernel has `kernel`.
struct sigaction shown_action(int signo, const struct sigaction& kernel);
// Gives the kernel what is right for an action of the program's. SignalLock held.
int install_action(int signo, const struct sigaction& wanted);
// Installs all handlers of the program that the kernel has by ours again, after hidden_signals() has changed. SignalLock held.
void reinstall_program_handlers();
// The program's handlers with SA_ONSTACK block the sampling signal from now on. SignalLock held. Async-signal-safe.
void keep_samples_off_alternate_stacks();

}  // namespace sampan::preload
