// A memory of a few words, for the tests of AArch64's frames.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>

namespace sampan::unwind {

inline constexpr uint64_t kFakeStack = 0x10'0000, kReturnTo = 0x5010, kCallersFp = 0x10'0400;

class FakeMemory {
 public:
  // The concept of unwind/stack_walk.h.
  static bool covers(uint64_t, uint64_t) { return false; }
  static uint64_t load(uint64_t) { return 0; }
  bool read(uint64_t avma, uint64_t& value) const {
    const auto word = words.find(avma);
    if (word == words.end()) return false;
    value = word->second;
    return true;
  }
  // Not aligned to words, as instructions are.
  bool read_code(uint64_t avma, uint64_t& value) const {
    const auto low = code.find(avma), high = code.find(avma + 4);
    if (low == code.end() && high == code.end()) return false;
    value = (low != code.end() ? low->second : 0) |
            (high != code.end() ? uint64_t{high->second} << 32 : 0);
    return true;
  }
  static bool may_read_code() { return true; }
  static bool readable(uint64_t) { return true; }

  void put_code(uint64_t avma, std::initializer_list<uint32_t> instructions) {
    for (const uint32_t instruction : instructions) code[avma] = instruction, avma += 4;
  }
  void put_call_before(uint64_t return_address) { code[return_address - 4] = 0x9400'0000; }

  std::map<uint64_t, uint64_t> words;
  std::map<uint64_t, uint32_t> code;
};

}  // namespace sampan::unwind
