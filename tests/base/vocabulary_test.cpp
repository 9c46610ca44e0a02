#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "base/address.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/syscall.h"

namespace sampan {
namespace {

TEST(CodeAddress, OnlyReturnAddressesAreLookedUpOneByteEarlier) {
  EXPECT_EQ(CodeAddress::instruction_pointer(0x1000).lookup_avma(), 0x1000u);
  EXPECT_EQ(CodeAddress::return_address(0x1000).lookup_avma(), 0xfffu);
  EXPECT_EQ(CodeAddress::return_address(0x1000).avma(), 0x1000u);
  EXPECT_FALSE(CodeAddress::return_address(0x1000) == CodeAddress::instruction_pointer(0x1000));
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
