// Code to which a function has jumped from the midst of its frame: see the file of x86-64. Other processors
// go without.
//
// Freestanding: linked into the target.
#pragma once

#if defined(__x86_64__)
#include "unwind/x86_64/entry_jump.h"
#else

#include <cstdint>

#include "unwind/cfi_row.h"
#include "unwind/packed_row.h"

namespace sampan::unwind {

template <typename Memory>
class EntryJump {
 public:
  EntryJump(Memory&, uint64_t) {}
  template <typename IsCode>
  static bool next(IsCode&&, uint16_t&) {
    return false;
  }
  static uint64_t jump() { return 0; }
  static uint64_t return_address() { return 0; }
  static uint64_t cfa() { return 0; }
  static bool fits(const CfiRow&, uint64_t&) { return false; }
  static PackedRow row() { return {}; }
};

}  // namespace sampan::unwind

#endif
