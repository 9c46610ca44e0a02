// Words for addresses, used by every folder.
//
//   AVMA   actual virtual memory address: where something is in a running process
//   SVMA   stated virtual memory address: where the ELF file says it is
//   bias   AVMA - SVMA of one mapped module
//
// Freestanding: linked into the target.
#pragma once

#include <compare>
#include <cstdint>

namespace sampan {

// An address of code in a process, and whether it is the instruction that was (or will next be)
// executed, or the instruction after a call. Only `lookup_avma` knows the difference: the call
// itself ends one byte before its return address, and may be the last instruction of its function.
class CodeAddress {
 public:
  static constexpr CodeAddress instruction_pointer(uint64_t avma) { return {avma, false}; }
  static constexpr CodeAddress return_address(uint64_t avma) { return {avma, true}; }

  constexpr uint64_t avma() const { return avma_; }
  constexpr bool is_return_address() const { return is_return_address_; }
  // An AVMA inside the instruction that this frame is executing.
  constexpr uint64_t lookup_avma() const { return is_return_address_ ? avma_ - 1 : avma_; }

  friend constexpr bool operator==(CodeAddress, CodeAddress) = default;

 private:
  constexpr CodeAddress(uint64_t avma, bool is_return_address)
      : avma_(avma), is_return_address_(is_return_address) {}
  uint64_t avma_;
  bool is_return_address_;
};

}  // namespace sampan
