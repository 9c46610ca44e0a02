// The terms for addresses in all folders.
//
//   AVMA   actual virtual memory address: where something is in a running process
//   SVMA   stated virtual memory address: where the ELF file says it is
//   bias   AVMA - SVMA of one mapped module
//
// Freestanding: linked into the target.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>

namespace sampan {

// Addresses of one kind, as TimePoint (base/time.h): a constant becomes one by itself, other numbers
// by `at`. An address plus or minus a number is an address; the difference of two is a number.
template <typename Kind>
class Address {
 public:
  constexpr Address() = default;
  consteval Address(uint64_t address) : address_(address) {}
  static constexpr Address at(uint64_t address) {
    Address result;
    result.address_ = address;
    return result;
  }
  template <typename Other>
  static Address at(Address<Other>) = delete;
  constexpr operator uint64_t() const { return address_; }

  template <std::integral Distance>
  friend constexpr Address operator+(Address address, Distance bytes) {
    return at(address.address_ + static_cast<uint64_t>(bytes));
  }
  template <std::integral Distance>
  friend constexpr Address operator-(Address address, Distance bytes) {
    return at(address.address_ - static_cast<uint64_t>(bytes));
  }

 private:
  uint64_t address_ = 0;
};

using Avma = Address<struct InProcess>;
using Svma = Address<struct InFile>;

constexpr Avma avma_of(Svma svma, uint64_t bias) {
  return Avma::at(uint64_t{svma} + bias);
}
constexpr Svma svma_of(Avma avma, uint64_t bias) {
  return Svma::at(uint64_t{avma} - bias);
}

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

static_assert(sizeof(Avma) == sizeof(uint64_t));

}  // namespace sampan
