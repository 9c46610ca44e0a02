#include "sampler/control/control_socket.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"

namespace sampan::sampler {
namespace {

using std::chrono::seconds;

// Longer than any test may take.
constexpr seconds kForEver{3600};

// Listens under a recorder's name and says nothing, as one that is stopped.
class Silent {
 public:
  explicit Silent(const std::string& name) : socket_(socket(AF_UNIX, SOCK_SEQPACKET, 0)) {
    const std::string full = "sampan-ctl-" + name;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, full.data(), full.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + full.size());
    if (bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        listen(socket_.get(), 0) != 0) {
      std::abort();
    }
  }

 private:
  FileDescriptor socket_;
};

// A recorder of this process.
class Recorder {
 public:
  Recorder() : thread_([this] { run(); }) {
    while (!listens_) std::this_thread::yield();
  }
  ~Recorder() {
    ends_ = true;
    thread_.join();
  }

  int asked() const { return asked_; }

 private:
  void run() {
    EventLoop loop;
    Controlled controlled;
    controlled.records = [](pid_t) { return false; };
    controlled.status = [this] {
      ++asked_;
      return std::string("all is well");
    };
    const ControlSocket socket(loop, controlled, "");
    listens_ = true;
    while (!ends_) loop.wait(10);
  }

  std::atomic<bool> listens_ = false, ends_ = false;
  std::atomic<int> asked_ = 0;
  std::thread thread_;
};

std::string error_of(pid_t pid, seconds timeout) {
  try {
    return control(pid, "status", "", timeout);
  } catch (const Error& error) {
    return error.what();
  }
}

// Abstract names belong to a network namespace. In one of its own, the test neither meets recorders nor
// keeps those of others waiting. `body` returns whether all was as expected.
template <typename Body>
void in_a_namespace(Body body) {
  if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) _exit(77);
  alarm(60);
  _exit(body() ? 0 : 1);
}

class ControlSocketTest : public testing::Test {
 protected:
  void SetUp() override {
    const pid_t child = fork();
    if (child == 0) in_a_namespace([] { return true; });
    int status = 0;
    waitpid(child, &status, 0);
    if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "the kernel refuses a network namespace";
  }
};

TEST_F(ControlSocketTest, StoppedRecordersDoNotKeepAnotherFromAnswering) {
  const auto body = [] {
    std::vector<Silent> before;
    for (const char* name : {"1", "2", "3"}) before.emplace_back(name);
    const Recorder recorder;
    std::vector<Silent> after;
    for (const char* name : {"4", "5", "6"}) after.emplace_back(name);
    for (int i = 0; i < 3; ++i) {  // a silent one soon has no room for one more
      if (control(getpid(), "status", "", kForEver) != "all is well") return false;
    }
    return true;
  };
  EXPECT_EXIT(in_a_namespace(body), testing::ExitedWithCode(0), "");
}

// Connections of other clients have the recorder's name, too.
TEST_F(ControlSocketTest, EachRecorderIsAskedOnceBesideOtherClients) {
  const auto body = [] {
    const Recorder one, another;
    constexpr int kClients = 4, kTimes = 50;
    std::vector<std::thread> clients;
    for (int i = 0; i < kClients; ++i) {
      clients.emplace_back([] {
        for (int k = 0; k < kTimes; ++k) control(getpid(), "status", "", kForEver);
      });
    }
    for (std::thread& client : clients) client.join();
    // Both answer for this process, and a client may have its answer from one before the other is asked.
    return one.asked() <= kClients * kTimes && another.asked() <= kClients * kTimes;
  };
  EXPECT_EXIT(in_a_namespace(body), testing::ExitedWithCode(0), "");
}

TEST_F(ControlSocketTest, RecordersThatDoNotAnswerAreCounted) {
  const auto body = [] {
    const Silent one("1"), another("2");
    const Recorder recorder;
    return error_of(1, seconds(1)).find("2 of yours did not answer within 1 s") !=
           std::string::npos;
  };
  EXPECT_EXIT(in_a_namespace(body), testing::ExitedWithCode(0), "");
}

TEST_F(ControlSocketTest, WhereAllHaveAnsweredNobodyIsWaitedFor) {
  const auto body = [] {
    const Recorder recorder;
    return error_of(1, kForEver).find("not being recorded by a sampan of yours") !=
           std::string::npos;
  };
  EXPECT_EXIT(in_a_namespace(body), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace sampan::sampler
