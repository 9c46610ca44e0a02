#include "sampler/perf/sample_capture.h"

#include <gtest/gtest.h>

#include <cstring>

namespace sampan::sampler {
namespace {

constexpr size_t kSize = 1 << 18;
constexpr pid_t kTid = 7;

// The rings of two CPUs.
struct Rings {
  struct Memory {
    perf_event_mmap_page control{};
    std::vector<uint8_t> data = std::vector<uint8_t>(kSize);
  };
  std::vector<Memory> memories = std::vector<Memory>(2);
  std::vector<PerfEvents::Ring> rings;

  Rings() {
    for (Memory& memory : memories)
      rings.push_back({PerfRing(&memory.control, memory.data), -1, 0});
  }
  // A record of nothing but its identity, with `room` bytes in front of that.
  void write(size_t ring, uint32_t type, uint16_t misc, pid_t tid, uint64_t time, size_t room = 0) {
    struct {
      uint32_t pid, tid;
      uint64_t time;
    } identity{1, static_cast<uint32_t>(tid), time};
    const perf_event_header header{
        type, misc, static_cast<uint16_t>(sizeof(perf_event_header) + room + sizeof identity)};
    Memory& memory = memories[ring];
    std::memcpy(&memory.data[memory.control.data_head], &header, sizeof header);
    std::memcpy(&memory.data[memory.control.data_head + sizeof header + room], &identity,
                sizeof identity);
    memory.control.data_head += header.size;
  }
  void switched(size_t ring, uint16_t misc, pid_t tid, uint64_t time) {
    write(ring, PERF_RECORD_SWITCH, misc, tid, time);
  }
};

CapturedSample captured(uint64_t from, uint64_t to) {
  CapturedSample sample;
  sample.tid = kTid;
  sample.time_ns = MonotonicNs::at(from);
  sample.end_ns = MonotonicNs::at(to);
  return sample;
}

TEST(Arrivals, TellWhoseThreadRanBeforeAllWasRead) {
  Rings rings;
  rings.switched(0, PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT, kTid, 101);
  rings.switched(1, 0, kTid + 1, 110);
  rings.switched(1, 0, kTid, 120);
  const Arrivals arrivals(rings.rings);
  EXPECT_FALSE(arrivals.ran_again(captured(100, 119)));
  EXPECT_TRUE(arrivals.ran_again(captured(100, 120)));
  EXPECT_TRUE(arrivals.ran_again(captured(100, 500)));
  EXPECT_FALSE(arrivals.ran_again(captured(120, 500))) << "it came before the sample";
}

TEST(Arrivals, AreNotKnownWhereRecordsWereLost) {
  Rings rings;
  rings.write(1, PERF_RECORD_LOST, 0, 0, 110, 16);
  EXPECT_TRUE(Arrivals(rings.rings).ran_again(captured(100, 101)));
}

TEST(Arrivals, AreNotKnownWhereARingIsFull) {
  Rings rings;
  for (int i = 0; i < 5; ++i) rings.write(0, PERF_RECORD_SAMPLE, 0, kTid + 1, 90, 40'000);
  EXPECT_TRUE(Arrivals(rings.rings).ran_again(captured(100, 101)));
}

TEST(PerfSwitches, SayWhyAThreadLeaves) {
  Rings rings;
  std::vector<uint8_t> wrapped;
  const auto last = [&](uint16_t misc) {
    const uint64_t before = rings.rings[0].ring.head();
    rings.switched(0, misc, kTid, 1);
    return decode_perf_switch(rings.rings[0].ring.at(before, rings.rings[0].ring.head(), wrapped));
  };
  EXPECT_EQ(last(0), PerfSwitch::kIn);
  EXPECT_EQ(last(PERF_RECORD_MISC_SWITCH_OUT), PerfSwitch::kWaits);
  EXPECT_EQ(last(PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT),
            PerfSwitch::kPreempted);
}

}  // namespace
}  // namespace sampan::sampler
