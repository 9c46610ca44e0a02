#include "sampler/process/captured_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <vector>

namespace sampan::sampler {
namespace {

// Two pages, and one behind them that is not mapped.
struct Captured : testing::Test {
  static constexpr uint64_t kPage = 4096;
  char* const pages = static_cast<char*>(
      mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  const uint64_t at = reinterpret_cast<uint64_t>(pages);
  CapturedMemory memory;

  Captured() {
    munmap(pages + 2 * kPage, kPage);
    memory.start_capture(getpid());
  }
  ~Captured() override { munmap(pages, 2 * kPage); }

  void put(uint64_t offset, uint64_t value) { std::memcpy(pages + offset, &value, sizeof value); }
  uint64_t word(uint64_t avma) {
    uint64_t value = 0;
    return memory.read(avma, value) ? value : 0;
  }
};

TEST_F(Captured, IsAsItWasWhenItWasReadFirst) {
  put(8, 1);
  EXPECT_EQ(word(at + 8), 1u);
  put(8, 2);
  EXPECT_EQ(word(at + 8), 1u);
  memory.stop_capture();
  EXPECT_EQ(word(at + 8), 1u);
  EXPECT_EQ(word(at + kPage), 0u);  // was not read
  put(kPage, 7);
  memory.start_capture(getpid());
  EXPECT_EQ(word(at + 8), 2u);
  EXPECT_EQ(word(at + kPage), 7u);
}

TEST_F(Captured, ReadsGoOnInTheNextPage) {
  put(kPage - 4, 0x1122334455667788);
  EXPECT_EQ(word(at + kPage - 4), 0x1122334455667788u);
  EXPECT_TRUE(memory.readable(at, 2 * kPage));
  EXPECT_FALSE(memory.readable(at, 2 * kPage + 1));
  uint64_t value = 0;
  EXPECT_FALSE(memory.read(at + 2 * kPage - 4, value));
}

TEST_F(Captured, LikelyPagesAreCapturedAtOnce) {
  put(0, 1);
  put(kPage, 2);
  const uint64_t likely[] = {at, at + kPage, at + 2 * kPage};
  memory.start_capture(getpid(), likely);
  EXPECT_EQ(memory.size(), 2 * kPage);  // the third is not mapped
  put(kPage, 3);
  EXPECT_EQ(word(at + kPage), 2u);
  std::vector<uint64_t> used;
  memory.used_pages(used);
  EXPECT_EQ(used, std::vector{at + kPage});
  EXPECT_EQ(word(at), 1u);
  memory.used_pages(used);
  EXPECT_EQ(used, (std::vector{at, at + kPage}));
}

TEST_F(Captured, AddressesThatAreNoneAreRefused) {
  uint64_t value = 0;
  for (const uint64_t avma : {uint64_t{0}, uint64_t{8}, uint64_t{1} << 47, UINT64_MAX - 3}) {
    EXPECT_FALSE(memory.read(avma, value)) << avma;
    EXPECT_FALSE(memory.readable(avma, 8)) << avma;
  }
  EXPECT_FALSE(memory.readable(at, UINT64_MAX));
}

TEST_F(Captured, TheCopyOfTheStackCounts) {
  const std::vector<std::byte> copy(64, std::byte{0x55});
  put(0, 1);
  memory.use_stack(Avma::at(at), copy);
  EXPECT_TRUE(memory.on_stack(at));
  EXPECT_FALSE(memory.on_stack(at + 64));
  EXPECT_FALSE(memory.on_stack(at - 1));
  memory.end_stack(Avma::at(at + 32));
  EXPECT_TRUE(memory.on_stack(at + 31));
  EXPECT_FALSE(memory.on_stack(at + 32));
  memory.end_stack(Avma::at(at + 64));
  EXPECT_FALSE(memory.on_stack(at + 32)) << "it never grows";
  EXPECT_EQ(word(at), 0x5555555555555555u);
  put(64, 9);
  EXPECT_EQ(word(at + 64), 9u);
  EXPECT_EQ(word(at + 60), 0x0000000955555555u);
}

TEST(CapturedMemory, ACaptureHasALimit) {
  constexpr size_t kPages = 1100, kPage = 4096;
  const std::vector<char> large((kPages + 1) * kPage, 1);
  CapturedMemory memory;
  memory.start_capture(getpid());
  EXPECT_FALSE(memory.readable(reinterpret_cast<uint64_t>(large.data()), kPages * kPage));
  EXPECT_EQ(memory.size(), 1024 * kPage);
}

}  // namespace
}  // namespace sampan::sampler
