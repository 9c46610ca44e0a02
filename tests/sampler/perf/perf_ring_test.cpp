#include "sampler/perf/perf_ring.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

namespace sampan::sampler {
namespace {

constexpr size_t kRingSize = 256;

// The kernel's side of a ring.
class PerfRingTest : public testing::Test {
 protected:
  // A record of `size` bytes, whose body counts from `first` upwards.
  void write(uint16_t size, uint8_t first = 0) {
    const perf_event_header header{PERF_RECORD_SAMPLE, 0, size};
    std::vector<uint8_t> bytes(size < sizeof header ? sizeof header : size);
    std::iota(bytes.begin(), bytes.end(), first);
    std::memcpy(bytes.data(), &header, sizeof header);
    for (const uint8_t byte : bytes) data_[control_.data_head++ % kRingSize] = byte;
  }

  perf_event_mmap_page control_{};
  std::vector<uint8_t> data_ = std::vector<uint8_t>(kRingSize);
  PerfRing ring_{&control_, data_};
};

TEST_F(PerfRingTest, GivesRecordsInTheirOrderAndTheirRoomBack) {
  write(24, 1);
  write(16, 2);
  const uint64_t limit = ring_.head();
  EXPECT_EQ(ring_.peek(limit).size(), 24u);
  EXPECT_EQ(ring_.peek(limit).size(), 24u) << "until pop";
  EXPECT_EQ(control_.data_tail, 0u);
  ring_.pop();
  EXPECT_EQ(control_.data_tail, 24u);
  EXPECT_EQ(ring_.peek(limit)[8], 10);
  ring_.pop();
  EXPECT_TRUE(ring_.peek(limit).empty());
  EXPECT_EQ(ring_.take_corrupt(), 0u);
}

TEST_F(PerfRingTest, PutsARecordThatGoesOverTheEndTogether) {
  write(200);
  const uint64_t first = ring_.head();
  ring_.peek(first);
  ring_.pop();
  write(120, 5);
  const PerfBytes record = ring_.peek(ring_.head());
  ASSERT_EQ(record.size(), 120u);
  for (size_t i = sizeof(perf_event_header); i < record.size(); ++i) EXPECT_EQ(record[i], 5 + i);
}

TEST_F(PerfRingTest, ReadsNoFurtherThanTheLimit) {
  write(16);
  const uint64_t limit = ring_.head();
  write(16);
  ring_.peek(limit);
  ring_.pop();
  EXPECT_TRUE(ring_.peek(limit).empty());
  EXPECT_FALSE(ring_.peek(ring_.head()).empty());
}

TEST_F(PerfRingTest, ShowsRecordsBehindOthersAndGivesNothingBack) {
  write(200);
  ring_.peek(ring_.head());
  ring_.pop();
  write(24, 1);
  write(120, 5);  // over the end
  const uint64_t first = ring_.position(), limit = ring_.head();
  std::vector<uint8_t> wrapped;
  EXPECT_EQ(ring_.at(first, limit, wrapped).size(), 24u);
  const PerfBytes second = ring_.at(first + 24, limit, wrapped);
  ASSERT_EQ(second.size(), 120u);
  EXPECT_EQ(second.back(), 5 + 119);
  EXPECT_TRUE(ring_.at(limit, limit, wrapped).empty());
  EXPECT_TRUE(ring_.at(first + 24, limit - 8, wrapped).empty()) << "not all of it is there";
  EXPECT_EQ(ring_.position(), first);
  EXPECT_EQ(control_.data_tail, first);
}

TEST_F(PerfRingTest, SkipsWhatMakesNoSense) {
  for (const uint16_t size : std::initializer_list<uint16_t>{0, 4, 12, 2000}) {
    write(size);
    EXPECT_TRUE(ring_.peek(ring_.head()).empty()) << size;
    EXPECT_EQ(control_.data_tail, control_.data_head);
    control_.data_head = (control_.data_head + 7) / 8 * 8;
    ring_.peek(ring_.head());
  }
  EXPECT_GE(ring_.take_corrupt(), 4u);
  EXPECT_EQ(ring_.take_corrupt(), 0u);
  control_.data_head += 10 * kRingSize;  // overrun
  EXPECT_TRUE(ring_.peek(ring_.head()).empty());
  write(16);
  EXPECT_EQ(ring_.peek(ring_.head()).size(), 16u) << "and goes on behind it";
}

// A sample as the kernel writes it: identity, value, abi, 17 registers, stack.
std::vector<uint8_t> sample_record(uint64_t stack_size, uint64_t valid) {
  std::vector<uint64_t> words = {0, (uint64_t{8} << 32) | 7, 1000, 42, PERF_SAMPLE_REGS_ABI_64};
  for (uint64_t number = 0; number < 17; ++number) words.push_back(100 + number);
  words.push_back(stack_size);
  for (uint64_t i = 0; i < stack_size / 8; ++i) words.push_back(i);
  if (stack_size != 0) words.push_back(valid);
  perf_event_header header{PERF_RECORD_SAMPLE, 0, static_cast<uint16_t>(words.size() * 8)};
  std::memcpy(words.data(), &header, sizeof header);
  std::vector<uint8_t> bytes(words.size() * 8);
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

TEST(PerfRecords, ASampleHasItsRegistersByTheirDwarfNumbers) {
  const std::vector<uint8_t> bytes = sample_record(32, 24);
  const auto identity = identify(bytes);
  ASSERT_TRUE(identity);
  EXPECT_EQ(identity->pid, 7);
  EXPECT_EQ(identity->tid, 8);
  EXPECT_EQ(identity->time_ns, 1000u);
  const auto sample = decode_perf_sample(bytes, true);
  ASSERT_TRUE(sample);
  EXPECT_EQ(sample->value, 42u);
  // The kernel's order: ax bx cx dx si di bp sp ip r8 to r15.
  EXPECT_EQ(sample->registers.value[unwind::kRax], 100u);
  EXPECT_EQ(sample->registers.value[unwind::kRbx], 101u);
  EXPECT_EQ(sample->registers.value[unwind::kRcx], 102u);
  EXPECT_EQ(sample->registers.value[unwind::kRdx], 103u);
  EXPECT_EQ(sample->registers.value[unwind::kRbp], 106u);
  EXPECT_EQ(sample->registers.value[unwind::kRsp], 107u);
  EXPECT_EQ(sample->registers.value[unwind::kRip], 108u);
  EXPECT_EQ(sample->registers.value[15], 116u);
  EXPECT_EQ(sample->stack.size(), 24u);
  EXPECT_FALSE(sample->larger);
}

TEST(PerfRecords, AFullCopyMayGoOn) {
  EXPECT_TRUE(decode_perf_sample(sample_record(32, 32), true)->larger);
}

TEST(PerfRecords, NoLengthIsBelieved) {
  EXPECT_TRUE(decode_perf_sample(sample_record(32, 40), true)->stack.empty());
  std::vector<uint8_t> bytes = sample_record(32, 32);
  for (size_t size = 0; size < bytes.size(); size += 8) {
    std::vector<uint8_t> shorter(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_FALSE(decode_perf_sample(shorter, true)) << "the header says otherwise";
    if (size < sizeof(perf_event_header)) continue;
    const auto header_size = static_cast<uint16_t>(size);
    std::memcpy(shorter.data() + offsetof(perf_event_header, size), &header_size, 2);
    EXPECT_FALSE(decode_perf_sample(shorter, true)) << size;
  }
}

}  // namespace
}  // namespace sampan::sampler
