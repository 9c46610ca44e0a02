#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <thread>
#include <type_traits>

#include "base/address.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/syscall.h"
#include "base/time.h"

namespace sampan {
namespace {

TEST(CodeAddress, OnlyReturnAddressesAreLookedUpOneByteEarlier) {
  EXPECT_EQ(CodeAddress::instruction_pointer(0x1000).lookup_avma(), 0x1000u);
  EXPECT_EQ(CodeAddress::return_address(0x1000).lookup_avma(), 0xfffu);
  EXPECT_EQ(CodeAddress::return_address(0x1000).avma(), 0x1000u);
  EXPECT_FALSE(CodeAddress::return_address(0x1000) == CodeAddress::instruction_pointer(0x1000));
}

// What one of them is made of: a number, by `at`.
template <typename To, typename From>
concept MadeOf = requires(From from) {
  To::at(from);
};

static_assert(MadeOf<SessionNs, uint64_t> && MadeOf<Avma, uint64_t>);
static_assert(!MadeOf<SessionNs, MonotonicNs> && !MadeOf<UnixNs, SessionNs>);
static_assert(!MadeOf<Avma, Svma> && !MadeOf<Svma, Avma>);
static_assert(!std::is_convertible_v<MonotonicNs, SessionNs>);
static_assert(!std::is_convertible_v<CpuNs, MonotonicNs>);
static_assert(!std::is_convertible_v<Svma, Avma>);
static_assert(std::is_same_v<decltype(SessionNs() + 1), SessionNs>);
static_assert(std::is_same_v<decltype(SessionNs() - SessionNs()), uint64_t>);

TEST(TimePoint, IsNotBeforeItsClockBegan) {
  EXPECT_EQ(SessionNs(10).earlier(3), 7u);
  EXPECT_EQ(SessionNs(10).earlier(11), 0u);
  EXPECT_EQ(SessionNs(10).since(4), 6u);
  EXPECT_EQ(SessionNs(10).since(11), 0u);
}

TEST(SessionClock, BeginsWithTheSession) {
  EXPECT_EQ(SessionClock{1000}.at(1250), 250u);
  EXPECT_EQ(SessionClock{1000}.at(999), 0u);
}

TEST(RawSyscall, GivesTheKernelsResultAndLeavesErrnoAlone) {
  errno = 7;
  EXPECT_EQ(raw_syscall(SYS_getpid), getpid());
  EXPECT_EQ(raw_syscall(SYS_close, -1), -EBADF);
  EXPECT_EQ(errno, 7);
}

TEST(RawSyscall, PassesSixArguments) {
  // mmap takes six; a wrong offset (the sixth) is refused.
  const long page = raw_syscall(SYS_mmap, 0, 4096, 3, 0x22, -1, 0);
  ASSERT_GT(page, 0);
  EXPECT_EQ(raw_syscall(SYS_munmap, page, 4096), 0);
  EXPECT_EQ(raw_syscall(SYS_mmap, 0, 4096, 3, 0x22, -1, 1), -EINVAL);
}

TEST(Clock, ReadsTheCpuClockOfAnotherThreadByItsTid) {
  uint64_t own = 0;
  uint64_t seen = 0;
  const int tid = gettid();
  std::thread([&] { seen = read_clock_ns(thread_cpu_clock(tid)); }).join();
  own = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
  EXPECT_GT(seen, 0u);
  EXPECT_LE(seen, own);
}

TEST(Error, IsASentence) {
  try {
    throw Error("opening {}: {}", "x.sampan", "not a sampan recording");
  } catch (const std::exception& error) {
    EXPECT_STREQ(error.what(), "opening x.sampan: not a sampan recording");
  }
}

}  // namespace
}  // namespace sampan
