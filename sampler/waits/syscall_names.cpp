#include "sampler/waits/syscall_names.h"

#include <fmt/format.h>

#include <iterator>

namespace sampan::sampler {
namespace {

// From here on, numbers are the same for all processors. Those that are newer than Linux 6.1 are from
// arch/x86/entry/syscalls/syscall_64.tbl of Linux 6.18.
constexpr int64_t kSecondPart = 424;

// clang-format off
constexpr const char* kSecond[] = {  // from kSecondPart
    "pidfd_send_signal", "io_uring_setup", "io_uring_enter", "io_uring_register", "open_tree",
    "move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "pidfd_open", "clone3", "close_range",
    "openat2", "pidfd_getfd", "faccessat2", "process_madvise", "epoll_pwait2", "mount_setattr",
    "quotactl_fd", "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self",
    "memfd_secret", "process_mrelease", "futex_waitv", "set_mempolicy_home_node", "cachestat",
    "fchmodat2", "map_shadow_stack", "futex_wake", "futex_wait", "futex_requeue", "statmount",
    "listmount", "lsm_get_self_attr", "lsm_set_self_attr", "lsm_list_modules", "mseal",
    "setxattrat", "getxattrat", "listxattrat", "removexattrat", "open_tree_attr", "file_getattr",
    "file_setattr",
};
// clang-format on

}  // namespace

std::string syscall_name(int64_t number) {
  const std::span<const char* const> first = first_syscall_names();
  if (number >= 0 && number < std::ssize(first) && *first[number] != '\0') return first[number];
  const int64_t later = number - kSecondPart;
  if (later >= 0 && later < std::ssize(kSecond)) return kSecond[later];
  return fmt::format("syscall {}", number);
}

}  // namespace sampan::sampler
