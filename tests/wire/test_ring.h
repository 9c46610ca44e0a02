// A ring in ordinary memory, for tests.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wire/ring.h"

namespace sampan::wire {

struct TestRing {
  explicit TestRing(size_t capacity)
      : positions(std::make_unique<RingPositions>()), buffer(capacity) {}

  RingWriter writer() { return {positions.get(), buffer}; }
  RingReader reader() { return {positions.get(), buffer}; }

  std::unique_ptr<RingPositions> positions;
  std::vector<uint8_t> buffer;
};

inline bool put(RingWriter& writer, uint8_t type, std::string_view payload, size_t reserve = 0) {
  const std::span<uint8_t> room = writer.begin(payload.size(), reserve);
  if (room.data() == nullptr) return false;
  std::copy(payload.begin(), payload.end(), room.begin());
  writer.commit(type, payload.size());
  return true;
}

// What can be read now, as "1:first 2:second".
inline std::string drain(RingReader& reader) {
  std::string all;
  RingReader::Record record{};
  for (const uint64_t limit = reader.head(); reader.next(limit, record);) {
    if (!all.empty()) all += ' ';
    all += std::to_string(record.type) + ':' +
           std::string(record.payload.begin(), record.payload.end());
  }
  return all;
}

}  // namespace sampan::wire
