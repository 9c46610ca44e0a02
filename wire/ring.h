// A ring of records in shared memory: one producer (a thread of the target, in its signal handler),
// one consumer (the collector, another process).
//
//   - A record becomes visible whole or not at all: `head` is published after its bytes. A producer
//     that is killed in mid-record leaves nothing behind.
//   - Neither side waits. A record that does not fit is dropped, and the producer counts it.
//   - Neither side trusts the other. Positions and lengths are copied once, then checked. An invalid
//     position makes the ring look full to the producer and corrupt to the consumer.
//
// Records are contiguous and 8-byte aligned; one that would cross the end of the buffer is preceded
// by padding. Positions grow without bound; a position modulo the capacity is the offset.
//
// Freestanding: linked into the target.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sampan::wire {

// In front of each record's payload. `size` counts the header, the payload and its padding to 8.
struct RecordHeader {
  uint32_t size;
  uint8_t type;     // RecordType of record.h; kPadding is skipped by the reader
  uint8_t padding;  // bytes at the end of the record that are not payload, 0..7
  uint16_t reserved;
};
static_assert(sizeof(RecordHeader) == 8);

inline constexpr uint8_t kPadding = 0;

// The shared part of a ring; zero-filled memory is an empty ring.
struct RingPositions {
  alignas(64) std::atomic<uint64_t> head;  // written by the producer
  std::atomic<uint64_t> dropped;           // records that did not fit, written by the producer
  alignas(64) std::atomic<uint64_t> tail;  // written by the consumer
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

class RingWriter {
 public:
  RingWriter() = default;
  // `buffer.size()` is a power of two, at least 4096, and shared with the reader.
  RingWriter(RingPositions* positions, std::span<uint8_t> buffer)
      : positions_(positions), buffer_(buffer) {}

  // Returns room for a payload of at most `max_payload` bytes, or an empty span when the ring is too full
  // (counted as dropped). `reserve` bytes are left free for records that matter more. Nothing is
  // visible before `commit`; a `begin` without a `commit` costs nothing.
  std::span<uint8_t> begin(size_t max_payload, size_t reserve = 0);
  // Whether `begin` would find room.
  bool has_room(size_t max_payload, size_t reserve = 0) const;
  // Publishes the first `payload` bytes of what the last `begin` returned as a record of `type`.
  void commit(uint8_t type, size_t payload);

  // Bytes that the reader has not given back yet.
  uint64_t used() const;

  void count_dropped() { positions_->dropped.fetch_add(1, std::memory_order_relaxed); }

 private:
  bool find_place(uint64_t size, size_t reserve, uint64_t& head, uint64_t& pad) const;

  RingPositions* positions_ = nullptr;
  std::span<uint8_t> buffer_;
  uint64_t begin_ = 0;  // position of the record's header between begin and commit
};

class RingReader {
 public:
  struct Record {
    uint8_t type;
    std::span<const uint8_t> payload;  // in shared memory: may change while it is read
  };

  RingReader() = default;
  RingReader(RingPositions* positions, std::span<const uint8_t> buffer)
      : positions_(positions), buffer_(buffer) {}

  // What has been published so far. Pass it to `next` to read no further.
  uint64_t head() const { return positions_->head.load(std::memory_order_acquire); }

  // Reads the next record before `limit`; false when there is none. The previous record is given
  // back to the producer: its payload must not be used any more.
  bool next(uint64_t limit, Record& record);
  // Gives all that `next` has returned back to the producer.
  void release();

  // Records that could not be read because a position or a length was invalid. The reader then skips
  // to `limit`.
  uint64_t corrupt() const { return corrupt_; }
  uint64_t dropped() const { return positions_->dropped.load(std::memory_order_relaxed); }

 private:
  RingPositions* positions_ = nullptr;
  std::span<const uint8_t> buffer_;
  uint64_t position_ = 0;  // our own copy of tail: the shared one is never read back
  uint64_t corrupt_ = 0;
};

}  // namespace sampan::wire
