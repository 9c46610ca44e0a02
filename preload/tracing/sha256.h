// SHA-256 (FIPS 180-4) and HMAC (RFC 2104) with it: our own, for no library can be linked into the
// target. Async-signal-safe. Freestanding: linked into the target.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sampan::preload {

using Digest = std::array<uint8_t, 32>;

class Sha256 {
 public:
  void add(std::span<const uint8_t> bytes);
  // Once, at the end.
  Digest finish();

 private:
  static constexpr size_t kBlock = 64;
  void add_block(const uint8_t* block);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, kBlock> rest_ = {};
  uint64_t size_ = 0;  // bytes
};

Digest hmac_sha256(std::span<const uint8_t> key, std::span<const uint8_t> message);

// Takes the same time wherever they differ.
bool equal_in_constant_time(const Digest& a, const Digest& b);

}  // namespace sampan::preload
