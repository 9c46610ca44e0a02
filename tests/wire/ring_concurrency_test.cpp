// Both sides at once: as threads (for TSan), and as processes (what a SIGKILL leaves behind).
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <thread>

#include "base/clock.h"
#include "test_ring.h"
#include "wire/ring.h"

namespace sampan::wire {
namespace {

constexpr size_t kLargeRing = size_t{1} << 14;

// A record has its number in every word, so that a torn record is seen.
size_t words_of(uint64_t number) {
  return 1 + number % 97;
}

bool put_number(RingWriter& writer, uint64_t number) {
  const size_t bytes = words_of(number) * sizeof number;
  const std::span<uint8_t> room = writer.begin(bytes);
  if (room.empty()) return false;
  for (size_t i = 0; i < bytes; i += sizeof number) {
    std::memcpy(room.data() + i, &number, sizeof number);
  }
  writer.commit(1, bytes);
  return true;
}

// The record's number; fails the test when the record is not whole.
uint64_t number_in(std::span<const uint8_t> payload) {
  uint64_t number = 0;
  if (payload.size() < sizeof number) {
    ADD_FAILURE() << "a record of " << payload.size() << " bytes";
    return 0;
  }
  std::memcpy(&number, payload.data(), sizeof number);
  EXPECT_EQ(payload.size(), words_of(number) * sizeof number);
  for (size_t i = 0; i + sizeof number <= payload.size(); i += sizeof number) {
    uint64_t word = 0;
    std::memcpy(&word, payload.data() + i, sizeof word);
    if (word != number) {
      ADD_FAILURE() << "record " << number << " is torn";
      break;
    }
  }
  return number;
}

TEST(RingConcurrency, TwoThreadsLoseOnlyWhatIsCounted) {
  constexpr uint64_t kRecords = 300'000;
  TestRing ring(kLargeRing);
  std::atomic<bool> done = false;
  std::thread producer([&] {
    RingWriter writer = ring.writer();
    for (uint64_t number = 1; number <= kRecords; ++number) {
      // Yields sometimes, so that both a full and an empty ring occur on any machine.
      if (!put_number(writer, number)) std::this_thread::yield();
    }
    done = true;
  });
  RingReader reader = ring.reader();
  uint64_t received = 0;
  uint64_t last = 0;
  for (bool finished = false; !finished;) {
    finished = done;  // read before the head: what comes before `done` is then seen
    RingReader::Record record{};
    for (const uint64_t limit = reader.head(); reader.next(limit, record);) {
      const uint64_t number = number_in(record.payload);
      EXPECT_GT(number, last);
      last = number;
      ++received;
    }
    std::this_thread::yield();
  }
  producer.join();
  EXPECT_EQ(reader.corrupt(), 0u);
  EXPECT_EQ(received + reader.dropped(), kRecords);
  EXPECT_GT(received, 0u);
}

struct SharedRing {
  RingPositions positions;
  std::atomic<uint64_t> committed;  // the last number that the producer knows to be in the ring
  uint8_t buffer[kLargeRing];
};

TEST(RingConcurrency, AKilledProducerLeavesAllItsCommittedRecordsWhole) {
  for (int trial = 0; trial < 20; ++trial) {
    void* const memory = mmap(nullptr, sizeof(SharedRing), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    SharedRing* const shared = new (memory) SharedRing;
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      RingWriter writer(&shared->positions, shared->buffer);
      for (uint64_t number = 1;;) {
        if (put_number(writer, number)) shared->committed = number++;
      }
    }
    RingReader reader(&shared->positions, shared->buffer);
    uint64_t last = 0;
    const auto drain_numbers = [&] {
      RingReader::Record record{};
      for (const uint64_t limit = reader.head(); reader.next(limit, record);) {
        EXPECT_EQ(number_in(record.payload), last + 1);
        last = number_in(record.payload);
      }
    };
    const uint64_t goal = 500 + static_cast<uint64_t>(trial) * 37;
    while (last < goal) drain_numbers();
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    drain_numbers();
    EXPECT_EQ(reader.corrupt(), 0u);
    // It may have died between the ring's commit and its own note of it.
    EXPECT_GE(last, shared->committed);
    EXPECT_LE(last, shared->committed + 1);
    munmap(memory, sizeof(SharedRing));
  }
}

}  // namespace
}  // namespace sampan::wire
