#include "sampler/process/process_pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace sampan::sampler {
namespace {

// Two pages, each byte of which is the page's number; nothing else is readable.
struct Pages : testing::Test {
  static constexpr uint64_t kFirst = 0x10000;
  std::map<uint64_t, unsigned> fetched;
  unsigned questions = 0, most_questions = UINT32_MAX;
  ProcessPages pages{[this](uint64_t page, std::span<std::byte, ProcessPages::kPageSize> to) {
                       ++fetched[page];
                       if (page != kFirst && page != kFirst + ProcessPages::kPageSize) return false;
                       std::ranges::fill(to, page == kFirst ? std::byte{1} : std::byte{2});
                       return true;
                     },
                     [this] { return questions++ < most_questions; }};
};

TEST_F(Pages, AreFetchedOnce) {
  uint32_t word = 0;
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(pages.read(kFirst + ProcessPages::kPageSize - 2, word));
    EXPECT_EQ(word, 0x02020101u);
    EXPECT_FALSE(pages.read(kFirst - 4, word));
  }
  EXPECT_EQ(fetched, (std::map<uint64_t, unsigned>{{kFirst - ProcessPages::kPageSize, 1},
                                                   {kFirst, 1},
                                                   {kFirst + ProcessPages::kPageSize, 1}}));
  EXPECT_FALSE(pages.is_cut());
}

TEST_F(Pages, AllOfARangeMustBeThere) {
  uint64_t word = 0;
  EXPECT_TRUE(pages.readable(kFirst, 2 * ProcessPages::kPageSize));
  EXPECT_FALSE(pages.readable(kFirst, 2 * ProcessPages::kPageSize + 1));
  EXPECT_FALSE(pages.read(kFirst + 2 * ProcessPages::kPageSize - 4, word));
  EXPECT_FALSE(pages.readable(kFirst, UINT64_MAX));
  for (const uint64_t avma : {uint64_t{0}, UINT64_MAX - 3, uint64_t{1} << 47}) {
    EXPECT_FALSE(pages.read(avma, word)) << avma;
  }
}

// Memory of another process may lead in circles.
TEST_F(Pages, TimeIsBoundedWhereAllPagesAreThere) {
  most_questions = 10;
  uint8_t byte = 0;
  unsigned reads = 0;
  while (pages.read(kFirst, byte) && reads < 1'000'000) ++reads;
  EXPECT_TRUE(pages.is_cut());
  EXPECT_GT(reads, 1'000u);
  EXPECT_LT(reads, 1'000'000u);
  EXPECT_FALSE(pages.read(kFirst, byte)) << "and stays so";
}

}  // namespace
}  // namespace sampan::sampler
