// Compares the reported reasons with children that wait in known calls.
#include "sampler/waits/wait_reason.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "child.h"
#include "process/made_interpreter.h"
#include "sampler/waits/syscall_names.h"
#include "support/scratch_directory.h"

namespace sampan::sampler {
namespace {

template <typename Body>
WaitReason reason_of(int64_t call, Body&& body) {
  const Child child(body);
  return WaitReasons(child.pid()).describe(child.wait_until_blocked(call));
}

std::string link_of(int fd) {
  char buffer[64] = {};
  EXPECT_GT(readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), buffer, sizeof buffer), 0);
  return buffer;
}

struct Pipe {
  int ends[2];
  Pipe() { EXPECT_EQ(pipe(ends), 0); }
  ~Pipe() {
    close(ends[0]);
    close(ends[1]);
  }
};

void read_byte(int fd) {
  char byte;
  [[maybe_unused]] const ssize_t size = read(fd, &byte, 1);
}

TEST(SyscallName, IsThatOfTheHeaders) {
  EXPECT_EQ(syscall_name(SYS_read), "read");
  EXPECT_EQ(syscall_name(SYS_rseq), "rseq");
  EXPECT_EQ(syscall_name(SYS_pidfd_send_signal), "pidfd_send_signal");
  EXPECT_EQ(syscall_name(SYS_set_mempolicy_home_node), "set_mempolicy_home_node");
  EXPECT_EQ(syscall_name(400), "syscall 400");
  EXPECT_EQ(syscall_name(9999), "syscall 9999");
  EXPECT_EQ(syscall_name(-5), "syscall -5");
}

TEST(WaitReason, IsAPageFaultOutsideOfSystemCalls) {
  EXPECT_EQ(WaitReasons(getpid()).describe({-1, {}, 0, 0}).call, "page fault");
}

TEST(WaitReason, OfTheGilIsItsHolderWhileThatLives) {
  constexpr size_t kGil = 0x200;
  MadeInterpreter made;
  made.interpreter.runtime_layout.gil = kGil;
  made.put(MadeInterpreter::kRuntime + kGil + 8, made.at(MadeInterpreter::kThread));
  WaitReasons reasons(getpid(), PythonRuntime(getpid(), made.interpreter));
  const BlockedCall call = {SYS_futex, {made.at(MadeInterpreter::kRuntime + kGil)}, 0, 0};
  char name[16];
  prctl(PR_GET_NAME, name);
  EXPECT_EQ(reasons.describe(call).call, "GIL");
  EXPECT_EQ(reasons.describe(call).object, fmt::format("held by thread {} {}", gettid(), name));
  // Its last holder has ended, or is not yet a thread of the system.
  made.put(MadeInterpreter::kThread + 160, 0);
  EXPECT_EQ(reasons.describe(call).call, "GIL");
  EXPECT_EQ(reasons.describe(call).object, "");
}

TEST(WaitReason, OfAReadIsItsPipe) {
  const Pipe pipe;
  const WaitReason reason = reason_of(SYS_read, [&] { read_byte(pipe.ends[0]); });
  EXPECT_EQ(reason.call, "read");
  EXPECT_EQ(reason.object, link_of(pipe.ends[0]));
}

TEST(WaitReason, OfAnEventfdIsItsKind) {
  const int fd = eventfd(0, 0);
  EXPECT_EQ(reason_of(SYS_read,
                      [&] {
                        uint64_t value;
                        [[maybe_unused]] const ssize_t size = read(fd, &value, sizeof value);
                      })
                .object,
            "eventfd");
  close(fd);
}

TEST(WaitReason, OfAPollIsItsOnlyDescriptorOrTheirNumber) {
  const Pipe pipe;
  const auto poll_all = [&](std::vector<pollfd> all) {
    return reason_of(SYS_poll, [&] { poll(all.data(), all.size(), -1); }).object;
  };
  EXPECT_EQ(poll_all({{pipe.ends[0], POLLIN, 0}, {-1, 0, 0}}), link_of(pipe.ends[0]));
  EXPECT_EQ(poll_all({{pipe.ends[0], POLLIN, 0}, {-1, 0, 0}, {pipe.ends[0], POLLHUP, 0}}),
            "2 descriptors");
  EXPECT_EQ(poll_all({}), "");
}

TEST(WaitReason, OfASelectIsItsOnlyDescriptor) {
  const Pipe pipe;
  const WaitReason reason = reason_of(SYS_pselect6, [&] {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(pipe.ends[0], &set);
    pselect(pipe.ends[0] + 1, &set, nullptr, nullptr, nullptr, nullptr);
  });
  EXPECT_EQ(reason.object, link_of(pipe.ends[0]));
}

TEST(WaitReason, OfAnEpollIsItsOnlyDescriptorOrSeveral) {
  const Pipe first;
  const Pipe second;
  const auto wait_for = [&](const std::vector<int>& all) {
    return reason_of(SYS_epoll_wait,
                     [&] {
                       const int epoll = epoll_create1(0);
                       for (const int fd : all) {
                         epoll_event event{EPOLLIN, {}};
                         epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
                       }
                       epoll_event event;
                       epoll_wait(epoll, &event, 1, -1);
                     })
        .object;
  };
  EXPECT_EQ(wait_for({first.ends[0]}), link_of(first.ends[0]));
  EXPECT_EQ(wait_for({first.ends[0], second.ends[0]}), "several descriptors");
}

TEST(WaitReason, OfASocketIsWhoSpeaksWithWhom) {
  const int server = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(server, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(server, 1), 0);
  ASSERT_EQ(getsockname(server, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string server_name = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  EXPECT_EQ(reason_of(SYS_accept, [&] { accept(server, nullptr, nullptr); }).object,
            "tcp " + server_name);

  const int client = socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_EQ(connect(client, reinterpret_cast<sockaddr*>(&address), size), 0);
  const int connection = accept(server, nullptr, nullptr);
  ASSERT_EQ(getsockname(client, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string client_name = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  const auto receive = [](int fd) {
    return reason_of(SYS_recvfrom,
                     [fd] {
                       char byte;
                       recv(fd, &byte, 1, 0);
                     })
        .object;
  };
  EXPECT_EQ(receive(connection), "tcp " + server_name + " <- " + client_name);
  EXPECT_EQ(receive(client), "tcp " + client_name + " -> " + server_name);
  close(connection);
  close(client);
  close(server);
}

TEST(WaitReason, OfALocalSocketIsItsPath) {
  const test::ScratchDirectory directory;
  const std::string path = directory.file("socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const int server = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(server, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(server, 1), 0);
  EXPECT_EQ(reason_of(SYS_accept, [&] { accept(server, nullptr, nullptr); }).object,
            "unix " + path);
  close(server);
}

TEST(WaitReason, OfAnOpenIsThePath) {
  const test::ScratchDirectory directory;
  const std::string path = directory.file("fifo");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(reason_of(SYS_openat, [&] { open(path.c_str(), O_RDONLY); }).object, path);
}

TEST(WaitReason, OfAJoinIsTheThread) {
  const WaitReason reason = reason_of(SYS_futex, [] {
    std::thread sleeper([] { pause(); });
    pthread_setname_np(sleeper.native_handle(), "sleeper");
    sleeper.join();
  });
  EXPECT_EQ(reason.call, "futex");
  EXPECT_TRUE(reason.object.starts_with("thread ") && reason.object.ends_with(" sleeper"))
      << reason.object;
}

TEST(WaitReason, OfAChildIsTheChild) {
  EXPECT_EQ(reason_of(SYS_wait4,
                      [] {
                        const Pipe pipe;
                        if (fork() == 0) {
                          close(pipe.ends[1]);
                          read_byte(pipe.ends[0]);  // until the parent is gone
                          _exit(0);
                        }
                        wait4(-1, nullptr, 0, nullptr);
                      })
                .object,
            "any child");
}

}  // namespace
}  // namespace sampan::sampler
