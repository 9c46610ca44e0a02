#include "sampler/rings/shim_source.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cstddef>
#include <filesystem>
#include <functional>

#include "base/clock.h"
#include "fake_shim.h"
#include "recording/reader.h"

namespace sampan::sampler {
namespace {

using recording::Recording;
using wire::RecordType;

constexpr uint64_t kTimeout = 20'000'000'000;
constexpr wire::MemoryShape kShape{wire::kFewestSlots, true};

// A connection; -1: there is nobody.
int say(const std::string& name, const wire::Hello& hello) {
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), size) != 0) return -1;
  send(fd, &hello, sizeof hello, MSG_NOSIGNAL);
  return fd;
}

// The shim's side of wire/session.h; null when it is not taken in.
void* join(const std::string& name, bool forked, uint32_t version = wire::kWireVersion,
           wire::Welcome* answer = nullptr) {
  const int fd = say(name, {version, kShape.slots, getppid(), forked ? 1u : 0u, 0, 0});
  if (fd < 0) return nullptr;
  wire::Welcome welcome{};
  iovec data{&welcome, sizeof welcome};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t received = recvmsg(fd, &message, 0);
  close(fd);
  if (received != sizeof welcome || welcome.accepted == 0) return nullptr;
  if (answer != nullptr) *answer = welcome;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr) return nullptr;
  int memory = -1;
  std::memcpy(&memory, CMSG_DATA(header), sizeof memory);
  if (ftruncate(memory, 4096) == 0) return nullptr;  // the size must be sealed
  void* base = mmap(nullptr, kShape.size(), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
  close(memory);
  return base;
}

// Says that it ends, and returns when the connection is closed.
void say_goodbye(const std::string& name) {
  const int fd = say(name, {wire::kWireVersion, 0, getppid(), 0, 0, 1});
  char byte;
  (void)!recv(fd, &byte, 1, 0);
  close(fd);
}

// The answer to a wish.
wire::Outside wish(void* base, wire::Outside what) {
  auto& word = wire::control_block(base)->outside;
  word.store(what);
  while (word.load() == what) usleep(1000);
  return word.load();
}

// Notes who is to be sampled.
struct FakeEngine : Engine {
  explicit FakeEngine(std::vector<pid_t>* pids) : attached(pids) {}
  void attach(pid_t pid) override { attached->push_back(pid); }
  void read(MonotonicNs) override {}
  void set_rate(uint32_t) override {}
  uint64_t cost_ns() const override { return 0; }
  std::vector<pid_t>* attached;
};

void record_one_sample(void* base) {
  FakeShim shim(base);
  const auto tid = static_cast<int32_t>(getpid());
  shim.thread(0, RecordType::kThreadStart, thread_start(tid, monotonic_ns(), 0, "main"));
  shim.thread(0, RecordType::kSample, sample(monotonic_ns(), 1000, 1, 0, {0x10}));
}

class ShimSourceTest : public testing::Test {
 protected:
  ShimSourceTest() { std::filesystem::remove(path_); }
  ~ShimSourceTest() override { std::filesystem::remove(path_); }

  void start(bool follow) { start(ShimSource::Options{name_, follow}); }
  void start(const ShimSource::Options& options) {
    recording::Session description;
    description.start_monotonic_ns = monotonic_ns();
    session_.emplace(loop_, RecordingSession::Options{path_, description, {}});
    session_->start(std::make_unique<ShimSource>(*session_, options));
  }
  // With an engine for everybody, or for nobody.
  void start_with_engine(bool permitted) {
    ShimSource::Options options{name_, true};
    options.engine_for = [this, permitted](pid_t pid) -> std::unique_ptr<Engine> {
      if (!permitted) return nullptr;
      auto engine = std::make_unique<FakeEngine>(&attached_);
      engine->attach(pid);
      return engine;
    };
    start(options);
  }
  // A process that does `what` and exits with its result.
  pid_t process(const std::function<int()>& what) {
    const pid_t pid = fork();
    if (pid == 0) _exit(what());
    return pid;
  }
  void step_until(const std::function<bool()>& done) {
    const uint64_t end = monotonic_ns() + kTimeout;
    while (!done()) {
      ASSERT_LT(monotonic_ns(), end);
      session_->step(20);
    }
  }
  static int reap(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  Recording finish() {
    EXPECT_EQ(session_->failure(), "");
    session_->detach();
    session_->finish({});
    return recording::read(path_);
  }

  const std::string path_ =
      testing::TempDir() + "shim-source-" + std::to_string(getpid()) + ".sampan";
  const std::string name_ = SessionSocket::random_name();
  std::vector<pid_t> attached_;
  EventLoop loop_;
  std::optional<RecordingSession> session_;
};

TEST_F(ShimSourceTest, RecordsAProcessUpToItsKill) {
  start(true);
  const pid_t pid = process([this] {
    void* base = join(name_, false);
    if (base == nullptr) return 1;
    record_one_sample(base);
    raise(SIGKILL);
    return 2;
  });
  step_until([this] { return session_->joined() == 1 && session_->processes() == 0; });
  EXPECT_EQ(reap(pid), -SIGKILL);
  const Recording recording = finish();
  ASSERT_EQ(recording.processes.size(), 1u);
  EXPECT_EQ(recording.processes[0].pid, pid);
  EXPECT_EQ(recording.processes[0].parent_pid, getpid());
  EXPECT_EQ(recording.samples.size(), 1u);
  ASSERT_EQ(recording.process_ends.size(), 1u);
  EXPECT_EQ(recording.process_ends[0].exit_signal, SIGKILL);
  EXPECT_GT(recording.process_ends[0].cpu_ns, 0u);
}

TEST_F(ShimSourceTest, KnowsExecByTheSecondHello) {
  start(true);
  const pid_t pid = process([this] {
    void* first = join(name_, false);
    record_one_sample(first);
    void* second = join(name_, false);
    record_one_sample(second);
    return 0;
  });
  step_until([this] { return session_->joined() == 2 && session_->processes() == 0; });
  EXPECT_EQ(reap(pid), 0);
  const Recording recording = finish();
  ASSERT_EQ(recording.processes.size(), 2u);
  EXPECT_EQ(recording.processes[1].pid, pid);
  ASSERT_EQ(recording.process_ends.size(), 2u);
  EXPECT_TRUE(recording.process_ends[0].replaced);
  EXPECT_FALSE(recording.process_ends[0].exit_status);
  EXPECT_FALSE(recording.process_ends[1].replaced);
  EXPECT_EQ(recording.process_ends[1].exit_status, 0);
  EXPECT_EQ(recording.samples.size(), 2u);
}

TEST_F(ShimSourceTest, LetsOnlyTheRootInWhenChildrenAreNotFollowed) {
  start(false);
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const auto join_when_ready = [this, ready] {
    char byte;
    (void)!read(ready[0], &byte, 1);
    return join(name_, true) == nullptr ? 3 : 4;
  };
  const pid_t root = process(join_when_ready);
  process(join_when_ready);  // another
  session_->set_root(root);
  ASSERT_EQ(write(ready[1], "xx", 2), 2);
  int ended = 0, root_status = -1, other_status = -1;
  step_until([&] {
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0; ++ended) {
      (pid == root ? root_status : other_status) = WEXITSTATUS(status);
    }
    return ended == 2;
  });
  EXPECT_EQ(root_status, 4);
  EXPECT_EQ(other_status, 3);
  close(ready[0]);
  close(ready[1]);
}

TEST_F(ShimSourceTest, TurnsAwayAnotherVersion) {
  start(true);
  const pid_t pid = process([this] { return join(name_, false, 4711) == nullptr ? 3 : 4; });
  int status = -1;
  step_until([&] { return waitpid(pid, &status, WNOHANG) == pid; });
  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_EQ(session_->joined(), 0u);
}

TEST_F(ShimSourceTest, TurnsAwayWhoAsksForNoSlotsOrTooMany) {
  start(true);
  const pid_t pid = process([this] {
    for (const uint32_t slots : {0u, wire::kMostSlots + 1}) {
      const int fd = say(name_, {wire::kWireVersion, slots, getppid(), 0, 0, 0});
      wire::Welcome welcome{};
      if (recv(fd, &welcome, sizeof welcome, 0) > 0) return 4;
      close(fd);
    }
    return join(name_, false) != nullptr ? 3 : 5;
  });
  int status = -1;
  step_until([&] { return waitpid(pid, &status, WNOHANG) == pid; });
  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_EQ(session_->joined(), 1u);
}

TEST_F(ShimSourceTest, SwitchesSamplingOffInWhatStillRunsAtTheEnd) {
  start(true);
  const pid_t pid = process([this] {
    void* base = join(name_, false);
    record_one_sample(base);
    while (wire::control_block(base)->enabled.load() != 0) usleep(1000);
    return 5;
  });
  step_until([this] { return session_->joined() == 1; });
  EXPECT_EQ(session_->detach(), 1u);
  EXPECT_EQ(reap(pid), 5);
}

TEST_F(ShimSourceTest, AnEngineGoesOnWhereTheShimCannot) {
  start_with_engine(true);
  const pid_t pid = process([this] {
    void* base = join(name_, false);
    record_one_sample(base);
    const wire::Outside answer = wish(base, wire::Outside::kImage);
    pause();
    return static_cast<int>(answer);
  });
  step_until([this] { return !attached_.empty(); });
  EXPECT_EQ(attached_, std::vector{pid});
  ASSERT_TRUE(session_->contains(pid));
  EXPECT_FALSE(session_->find(pid)->tells_its_end()) << "its shim has told everything";
  kill(pid, SIGKILL);
  step_until([this] { return session_->processes() == 0; });
  EXPECT_EQ(reap(pid), -SIGKILL);
  const Recording recording = finish();
  EXPECT_EQ(recording.samples.size(), 1u);
  ASSERT_EQ(recording.process_ends.size(), 1u);
  EXPECT_TRUE(recording.process_ends[0].replaced);
}

TEST_F(ShimSourceTest, AnEngineTakesTheChildrenThatCouldNotJoin) {
  start_with_engine(true);
  const pid_t pid = process([this] {
    void* base = join(name_, false);
    const pid_t child = fork();
    if (child == 0) _exit(wish(base, wire::Outside::kChildren) == wire::Outside::kAttached ? 6 : 7);
    int status = 0;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
  });
  step_until([this] { return session_->joined() != 0 && session_->processes() == 0; });
  EXPECT_EQ(reap(pid), 6);
  ASSERT_EQ(attached_.size(), 1u);
  EXPECT_NE(attached_[0], pid);
}

TEST_F(ShimSourceTest, SaysThatNoEngineIsPermitted) {
  start_with_engine(false);
  const pid_t pid = process([this] {
    void* base = join(name_, false);
    return static_cast<int>(wish(base, wire::Outside::kImage));
  });
  step_until([this] { return session_->joined() != 0 && session_->processes() == 0; });
  EXPECT_EQ(reap(pid), static_cast<int>(wire::Outside::kRefused));
}

TEST_F(ShimSourceTest, AProcessThatTakesUsWithItWaitsForTheRecording) {
  ShimSource::Options options{name_, true};
  options.ends_with_namespace = true;
  start(options);
  const pid_t pid = process([this] {
    usleep(100'000);  // until it is the root
    wire::Welcome welcome{};
    void* base = join(name_, false, wire::kWireVersion, &welcome);
    if (welcome.waits_at_end == 0) return 8;
    record_one_sample(base);
    FakeShim(base).process(RecordType::kExit, exit_record(monotonic_ns(), 5));
    say_goodbye(name_);
    return 5;
  });
  session_->set_root(pid);
  step_until([this] { return session_->is_urgent(); });
  EXPECT_EQ(waitpid(pid, nullptr, WNOHANG), 0) << "it waits";
  const Recording so_far = recording::read(path_);
  EXPECT_EQ(so_far.samples.size(), 1u);
  ASSERT_EQ(so_far.process_ends.size(), 1u);
  EXPECT_EQ(so_far.process_ends[0].exit_status, 5);
  finish();
  EXPECT_EQ(reap(pid), 5);
}

TEST_F(ShimSourceTest, NobodyElseWaits) {
  ShimSource::Options options{name_, true};
  options.ends_with_namespace = true;
  start(options);
  const pid_t pid = process([this] {
    wire::Welcome welcome{};
    join(name_, false, wire::kWireVersion, &welcome);
    return static_cast<int>(welcome.waits_at_end);
  });
  step_until([this] { return session_->joined() != 0 && session_->processes() == 0; });
  EXPECT_EQ(reap(pid), 0);
}

TEST_F(ShimSourceTest, TakesManyProcessesAtOnce) {
  start(true);
  constexpr int kProcesses = 50;
  std::vector<pid_t> pids;
  for (int i = 0; i < kProcesses; ++i) {
    pids.push_back(process([this] {
      void* base = join(name_, true);
      if (base == nullptr) return 1;
      record_one_sample(base);
      return 0;
    }));
  }
  step_until([this] { return session_->joined() == kProcesses && session_->processes() == 0; });
  for (const pid_t pid : pids) EXPECT_EQ(reap(pid), 0);
  EXPECT_EQ(finish().samples.size(), size_t{kProcesses});
}

}  // namespace
}  // namespace sampan::sampler
