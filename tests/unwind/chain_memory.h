// The memory of a thread, for tests of the chains of Python frames, and what they give.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "unwind/python_frame.h"

namespace sampan::unwind::chain_test {

inline constexpr uint64_t kThread = 0x1000, kStack = 0x70000, kStackEnd = 0x80000;

struct Memory {
  std::map<uint64_t, uint8_t> bytes;

  template <typename T>
  bool read(uint64_t avma, T& value) {
    uint8_t raw[sizeof(T)];
    for (size_t i = 0; i < sizeof(T); ++i) {
      const auto found = bytes.find(avma + i);
      if (found == bytes.end()) return false;
      raw[i] = found->second;
    }
    std::memcpy(&value, raw, sizeof raw);
    return true;
  }
  bool on_stack(uint64_t avma) const { return avma >= kStack && avma < kStackEnd; }
  void put(uint64_t avma, uint64_t value, size_t size = 8) {
    for (size_t i = 0; i < size; ++i) bytes[avma + i] = static_cast<uint8_t>(value >> 8 * i);
  }
};

struct Group {
  uint64_t mark;
  std::vector<uint64_t> codes;
  bool operator==(const Group&) const = default;
};

struct Walked {
  std::vector<Group> groups;
  bool torn;
  bool operator==(const Walked&) const = default;
};

template <typename Chain>
Walked walk(Chain&& chain) {
  Walked walked{};
  while (chain.has_group()) {
    Group& group = walked.groups.emplace_back(Group{chain.mark(), {}});
    PythonFrame frame{};
    while (chain.next(frame)) group.codes.push_back(frame.code);
  }
  walked.torn = chain.torn();
  return walked;
}

}  // namespace sampan::unwind::chain_test
