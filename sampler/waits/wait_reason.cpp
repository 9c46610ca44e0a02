#include "sampler/waits/wait_reason.h"

#include <fmt/format.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/clock.h"
#include "sampler/process/old_calls.h"
#include "sampler/process/proc_task.h"
#include "sampler/process/proc_text.h"
#include "sampler/process/remote_memory.h"
#include "sampler/waits/syscall_names.h"

namespace sampan::sampler {
namespace {

constexpr size_t kMostDescriptors = 1024;  // that are read of one poll
constexpr size_t kLongestPath = 256;
constexpr pid_t kLastThreadState = 3;   // glibc: exited, exiting, joinable, detached
constexpr uint64_t kDescriptor = 2048;  // of struct pthread, behind its list of robust mutexes
constexpr uint64_t kEpollsForNs = 1'000'000'000;

// "anon_inode:[eventfd]" and "anon_inode:inotify" are an eventfd and an inotify.
std::string without_anon_inode(std::string_view link) {
  constexpr std::string_view kPrefix = "anon_inode:";
  if (!link.starts_with(kPrefix)) return std::string(link);
  link.remove_prefix(kPrefix.size());
  if (link.starts_with('[') && link.ends_with(']')) link = link.substr(1, link.size() - 2);
  return link == "eventpoll" ? "epoll" : std::string(link);
}

}  // namespace

WaitReason WaitReasons::describe(const BlockedCall& call) {
  if (call.number < 0) return {"page fault", ""};
  const Avma first = Avma::at(call.arguments[0]);
  if (call.number == SYS_futex && python_.is_gil(first, monotonic_ns())) {
    const std::optional<pid_t> holder = python_.gil_holder(first);
    const std::string thread = holder ? named(*holder) : "";  // "" too where it has ended
    return {"GIL", thread.empty() ? "" : "held by " + thread};
  }
  return {syscall_name(call.number), object_of(call)};
}

std::string WaitReasons::object_of(const BlockedCall& call) {
  const uint64_t* const arguments = call.arguments;
  switch (call.number) {
    case SYS_read:
    case SYS_write:
    case SYS_readv:
    case SYS_writev:
    case SYS_pread64:
    case SYS_pwrite64:
    case SYS_preadv:
    case SYS_pwritev:
    case SYS_preadv2:
    case SYS_pwritev2:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
    case SYS_accept:
    case SYS_accept4:
    case SYS_connect:
    case SYS_sendfile:
    case SYS_splice:
    case SYS_tee:
    case SYS_vmsplice:
    case SYS_copy_file_range:
    case SYS_fsync:
    case SYS_fdatasync:
    case SYS_syncfs:
    case SYS_sync_file_range:
    case SYS_ftruncate:
    case SYS_fallocate:
    case SYS_flock:
    case SYS_fcntl:
    case SYS_ioctl:
    case SYS_close:
    case SYS_fstat:
    case SYS_getdents:
    case SYS_getdents64:
    case SYS_mq_timedsend:
    case SYS_mq_timedreceive:
    case SYS_io_uring_enter: return descriptor(arguments[0]);
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2: return in_epoll(arguments[0]);
    case SYS_poll:
    case SYS_ppoll: return one_of(in_poll(arguments[0], arguments[1]));
    case SYS_select:
    case SYS_pselect6: return one_of(in_select(call));
    case SYS_open:
    case SYS_creat:
    case SYS_stat:
    case SYS_lstat:
    case SYS_unlink:
    case SYS_mkdir:
    case SYS_execve: return path_at(Avma::at(arguments[0]));
    case SYS_openat:
    case SYS_openat2:
    case SYS_newfstatat:
    case SYS_statx:
    case SYS_unlinkat: return path_at(Avma::at(arguments[1]));
    case SYS_wait4:
      return static_cast<pid_t>(arguments[0]) > 0
                 ? fmt::format("process {}", static_cast<pid_t>(arguments[0]))
                 : "any child";
    case SYS_futex: return thread_of(call);
    default: return "";
  }
}

std::string WaitReasons::descriptor(uint64_t fd) {
  const auto link = read_link(fmt::format("{}/fd/{}", shared_entries(pid_), static_cast<int>(fd)));
  if (!link) return "";
  constexpr std::string_view kSocket = "socket:[";
  if (!link->starts_with(kSocket)) return without_anon_inode(*link);
  std::string_view inode = std::string_view(*link).substr(kSocket.size());
  return sockets_.name(take_number(inode));
}

std::string WaitReasons::one_of(const std::vector<uint64_t>& descriptors) {
  if (descriptors.empty()) return "";
  if (descriptors.size() > 1) return fmt::format("{} descriptors", descriptors.size());
  return descriptor(descriptors[0]);
}

std::vector<uint64_t> WaitReasons::in_poll(uint64_t array, uint64_t count) const {
  std::vector<pollfd> entries(std::min<uint64_t>(count, kMostDescriptors));
  const size_t size = entries.size() * sizeof(pollfd);
  entries.resize(read_process(pid_, Avma::at(array), entries.data(), size) / sizeof(pollfd));
  std::vector<uint64_t> descriptors;
  for (const pollfd& entry : entries) {
    if (entry.fd >= 0) descriptors.push_back(static_cast<uint64_t>(entry.fd));
  }
  return descriptors;
}

// Read, write and exceptional conditions: a bit for each descriptor.
std::vector<uint64_t> WaitReasons::in_select(const BlockedCall& call) const {
  const uint64_t count = std::min<uint64_t>(call.arguments[0], kMostDescriptors);
  uint64_t wanted[kMostDescriptors / 64] = {};
  for (const uint64_t set : {call.arguments[1], call.arguments[2], call.arguments[3]}) {
    uint64_t words[kMostDescriptors / 64] = {};
    if (set != 0) read_process(pid_, Avma::at(set), words, (count + 63) / 64 * 8);
    for (size_t i = 0; i < std::size(words); ++i) wanted[i] |= words[i];
  }
  std::vector<uint64_t> descriptors;
  for (uint64_t fd = 0; fd < count; ++fd) {
    if ((wanted[fd / 64] >> fd % 64 & 1) != 0) descriptors.push_back(fd);
  }
  return descriptors;
}

// The lines "tfd: 5 events: …" of fdinfo.
const std::string& WaitReasons::in_epoll(uint64_t fd) {
  const MonotonicNs now = monotonic_ns();
  Epoll& epoll = epolls_[fd];
  if (epoll.read_ns != 0 && now - epoll.read_ns < kEpollsForNs) return epoll.object;
  epoll.read_ns = now;
  const std::string text =
      read_whole(fmt::format("{}/fdinfo/{}", shared_entries(pid_), static_cast<int>(fd)))
          .value_or("");
  constexpr std::string_view kKey = "tfd:";
  const size_t first = text.find(kKey);
  std::string_view rest = std::string_view(text).substr(std::min(first, text.size()));
  if (rest.empty()) {
    epoll.object.clear();
  } else if (rest.find(kKey, kKey.size()) != std::string_view::npos) {
    epoll.object = "several descriptors";
  } else {
    rest.remove_prefix(kKey.size());
    epoll.object = descriptor(take_number(rest));
  }
  return epoll.object;
}

std::string WaitReasons::path_at(Avma avma) const {
  char path[kLongestPath] = {};
  read_process(pid_, avma, path, sizeof path - 1);
  return path;
}

// pthread_join waits, in a futex that is not private, until the kernel has cleared the thread's
// tid: the value that it waits on. Since glibc 2.43 it is the thread's state that it waits on, which
// is in the thread's descriptor, behind the list of its robust mutexes.
std::string WaitReasons::thread_of(const BlockedCall& futex) const {
  const auto operation = futex.arguments[1];
  const auto value = static_cast<pid_t>(futex.arguments[2]);
  const auto command = operation & FUTEX_CMD_MASK;
  const bool waits = command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET;
  if (!waits || (operation & FUTEX_PRIVATE_FLAG) != 0 || value <= 0) return "";
  if (value > kLastThreadState) return named(value);
  for (const pid_t tid : thread_ids(pid_)) {
    uint64_t robust_list = 0;
    size_t size = 0;
    if (syscall(SYS_get_robust_list, tid, &robust_list, &size) == 0 &&
        futex.arguments[0] - robust_list < kDescriptor) {
      return named(tid);
    }
  }
  return "";
}

std::string WaitReasons::named(pid_t tid) const {
  const auto name = thread_name(pid_, tid);
  return name ? fmt::format("thread {} {}", tid, *name) : "";
}

}  // namespace sampan::sampler
