#include "preload/process/outside.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "base/syscall.h"
#include "preload/process/environment.h"
#include "preload/process/process.h"
#include "preload/process/session.h"

namespace sampan::preload {
namespace {

using wire::Outside;

constexpr int kLongestWaitMs = 500;

ino_t network;  // 0: not known

ino_t network_now() {
  struct stat status {};
  return raw_syscall(SYS_newfstatat, AT_FDCWD, "/proc/self/ns/net", &status, 0) == 0 ? status.st_ino
                                                                                     : 0;
}

void wait_a_moment() {
  constexpr timespec kMoment{.tv_sec = 0, .tv_nsec = 1'000'000};
  raw_syscall(SYS_nanosleep, &kMoment, nullptr);
}

}  // namespace

void remember_network() {
  network = network_now();
}

bool can_join_from_here() {
  if (network != 0 && network == network_now()) return true;
  return session_name() != nullptr && reaches_collector(session_name());
}

bool ask_for_engine(Outside wanted, int pid) {
  wire::ControlBlock* control = wire::control_block(this_process.shared);
  if (control->enabled.load(std::memory_order_relaxed) == 0) return false;
  bool asked = false;
  for (int waited = 0; waited < kLongestWaitMs; ++waited) {
    Outside seen = Outside::kNothing;
    if (!asked) {
      // Another thread, or child, may be asking at the moment.
      asked = control->outside.compare_exchange_strong(seen, Outside::kAsking);
      if (seen == Outside::kUnanswered) return false;
      if (asked) {
        control->asked_pid.store(pid, std::memory_order_relaxed);
        control->outside.store(wanted);
      }
    } else if (seen = control->outside.load();
               seen == Outside::kAttached || seen == Outside::kRefused) {
      control->outside.store(Outside::kNothing);
      return seen == Outside::kAttached;
    }
    wait_a_moment();
  }
  control->outside.store(Outside::kUnanswered);
  return false;
}

}  // namespace sampan::preload
