#include "preload/process/session.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <span>

#include "base/syscall.h"
#include "preload/process/environment.h"
#include "preload/process/shared_memory.h"
#include "preload/support/decimal.h"
#include "preload/support/signal_set.h"
#include "preload/support/spin_lock.h"
#include "wire/control_block.h"
#include "wire/session.h"

namespace sampan::preload {
namespace {

constexpr timeval kTimeOut{.tv_sec = 2, .tv_usec = 0};

// Raw system calls: this may run in a child between fork and the program's own handlers, and close()
// and connect() are cancellation points.
void close_fd(int fd) {
  raw_syscall(SYS_close, fd);
}

// A descriptor connected to the collector, or -1.
int connect_to(const char* name) {
  sockaddr_un address{};
  const size_t length = strlen(name);
  if (length + 1 >= sizeof address.sun_path) return -1;
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path + 1, name, length);  // first byte zero: the abstract namespace
  const long fd = raw_syscall(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  raw_syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, &kTimeOut, sizeof kTimeOut);
  raw_syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_SNDTIMEO, &kTimeOut, sizeof kTimeOut);
  if (raw_syscall(SYS_connect, fd, &address, offsetof(sockaddr_un, sun_path) + 1 + length) != 0) {
    close_fd(static_cast<int>(fd));
    return -1;
  }
  return static_cast<int>(fd);
}

// Only our own user or root may give us memory that the handler writes to.
bool trusts_peer(int fd) {
  struct {
    pid_t pid;
    uid_t uid;
    gid_t gid;
  } peer{};
  socklen_t size = sizeof peer;
  if (raw_syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == 0 || peer.uid == static_cast<uid_t>(raw_syscall(SYS_geteuid));
}

wire::Hello hello_of_process() {
  wire::Hello hello{};
  hello.version = wire::kWireVersion;
  hello.parent_pid = static_cast<int32_t>(raw_syscall(SYS_getppid));
  return hello;
}

bool send_hello(int fd, const wire::Hello& hello) {
  return raw_syscall(SYS_sendto, fd, &hello, sizeof hello, MSG_NOSIGNAL, nullptr, 0) ==
         sizeof hello;
}

// Receives the answer. Returns the memfd, or -1 when there is none.
int receive_welcome(int fd, wire::Welcome& welcome) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  iovec data{&welcome, sizeof welcome};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const long received = raw_syscall(SYS_recvmsg, fd, &message, MSG_CMSG_CLOEXEC);
  if (received < 0) return -1;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
      header->cmsg_len != CMSG_LEN(sizeof(int))) {
    return -1;
  }
  int memfd = -1;
  memcpy(&memfd, CMSG_DATA(header), sizeof memfd);
  if (received == sizeof welcome && welcome.version == wire::kWireVersion &&
      welcome.accepted == 1) {
    return memfd;
  }
  close_fd(memfd);
  return -1;
}

// Without slots: it is not such a memory.
wire::MemoryShape shape_of(int memfd, uint32_t slots_asked) {
  struct stat status {};
  if (raw_syscall(SYS_fstat, memfd, &status) != 0 || status.st_size < 0) return {};
  return wire::shape_within(static_cast<uint64_t>(status.st_size), slots_asked);
}

// Until a collector listens at `name`, for two seconds at most.
bool wait_for_collector(const char* name) {
  constexpr int kTimeoutMs = 2'000;
  for (int waited = 0; waited < kTimeoutMs; ++waited) {
    if (const int fd = connect_to(name); fd >= 0) {
      close_fd(fd);
      return true;
    }
    const timespec pause{.tv_sec = 0, .tv_nsec = 1'000'000};
    raw_syscall(SYS_nanosleep, &pause, nullptr);
  }
  return false;
}

// Appends. What does not fit is left out: then the program is not found.
void append(std::span<char> buffer, const char* text) {
  const size_t used = strnlen(buffer.data(), buffer.size());
  const size_t length = strlen(text);
  if (used + length < buffer.size()) memcpy(buffer.data() + used, text, length + 1);
}

// Finds the program beside the shim (in a build directory), or where `meson install` puts it.
bool find_program(std::span<char> path) {
  constexpr const char* kPlaces[] = {"/sampan", "/" SAMPAN_PROGRAM_FOLDER "/sampan"};
  char folder[PATH_MAX] = ".";
  if (const char* slash = strrchr(shim_path(), '/')) {
    const auto length = static_cast<size_t>(slash - shim_path());
    memcpy(folder, shim_path(), length);
    folder[length] = '\0';
  }
  for (const char* place : kPlaces) {
    path[0] = '\0';
    append(path, folder);
    append(path, place);
    if (raw_syscall(SYS_faccessat, AT_FDCWD, path.data(), X_OK) == 0) return true;
  }
  return false;
}

void make_name(std::span<char> name) {
  uint8_t random[16];
  raw_syscall(SYS_getrandom, random, sizeof random, 0);
  append(name, "sampan-");
  for (const uint8_t byte : random) {
    const char digits[] = {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15], '\0'};
    append(name, digits);
  }
}

// In the grandchild: becomes the collector. It keeps stderr, for the page, and the directory.
[[noreturn]] void become_collector(const char* program, const char* name, const char* parent) {
  const long null = raw_syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR);
  raw_syscall(SYS_dup3, null, STDIN_FILENO, 0);
  raw_syscall(SYS_dup3, null, STDOUT_FILENO, 0);
  raw_syscall(SYS_close_range, 3, ~0u, 0);
  raw_syscall(SYS_setsid);
  // The collector itself runs without the shim.
  char** kept = environ;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (strncmp(*variable, "LD_PRELOAD=", 11) != 0 && strncmp(*variable, "SAMPAN=", 7) != 0) {
      *kept++ = *variable;
    }
  }
  *kept = nullptr;
  const char* arguments[] = {program,        "collect", "--session", name,
                             "--parent-pid", parent,    nullptr};
  raw_syscall(SYS_execve, program, arguments, environ);
  raw_syscall(SYS_exit_group, 127);
  __builtin_unreachable();
}

// By clone without a signal: the program sees no child, and its own wait() does not either.
bool launch(const char* program, const char* name) {
  char parent[12];
  write_decimal(parent, static_cast<int>(raw_syscall(SYS_getpid)));
  const SignalsBlocked blocked;
  const long child = raw_syscall(SYS_clone, 0, 0, 0, 0, 0);
  if (child == 0) {
    if (raw_syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) == 0) {
      change_kernel_mask(SIG_SETMASK, 0);
      become_collector(program, name, parent);
    }
    raw_syscall(SYS_exit_group, 0);
  }
  return child > 0 && raw_syscall(SYS_wait4, child, nullptr, __WALL, nullptr) == child;
}

}  // namespace

Session join_session(const char* name, const JoiningProcess& process) {
  Session session{};
  const int fd = connect_to(name);
  if (fd < 0) return session;
  wire::Hello hello = hello_of_process();
  hello.slots = process.shape.slots;
  hello.forked = process.at != nullptr ? 1u : 0u;
  hello.paused = process.paused ? 1u : 0u;
  wire::Welcome welcome{};
  int memfd = -1;
  if (trusts_peer(fd) && send_hello(fd, hello)) memfd = receive_welcome(fd, welcome);
  close_fd(fd);
  if (memfd < 0) return session;
  session.shape = shape_of(memfd, process.shape.slots);
  if (process.at == nullptr) {
    session.shared = session.shape.slots != 0 ? map_shared(memfd, session.shape) : nullptr;
  } else if (session.shape == process.shape && map_shared_again(memfd, session.shape, process.at)) {
    session.shared = process.at;
  }
  session.follow = welcome.follow != 0;
  session.sections_only = welcome.sections_only != 0;
  session.python = welcome.python != 0;
  session.perf = welcome.perf != 0;
  session.waits_at_end = welcome.waits_at_end != 0;
  close_fd(memfd);
  return session;
}

bool reaches_collector(const char* name) {
  const int fd = connect_to(name);
  if (fd >= 0) close_fd(fd);
  return fd >= 0;
}

void say_goodbye(const char* name) {
  const int fd = connect_to(name);
  if (fd < 0) return;
  wire::Hello hello = hello_of_process();
  hello.ending = 1;
  char nothing;
  if (send_hello(fd, hello)) raw_syscall(SYS_recvfrom, fd, &nothing, 1, 0, nullptr, nullptr);
  close_fd(fd);
}

bool start_collector() {
  char program[PATH_MAX];
  char name[wire::kSessionNameSize + 1] = {};
  if (!find_program(program)) return false;
  make_name(name);
  if (!launch(program, name) || !wait_for_collector(name)) return false;
  set_session_name(name);
  show_session();
  return true;
}

}  // namespace sampan::preload
