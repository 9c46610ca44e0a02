#include "preload/tracing/sha256.h"

#include <bit>

namespace sampan::preload {
namespace {

constexpr std::array<uint32_t, 64> kRounds = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

}  // namespace

void Sha256::add_block(const uint8_t* block) {
  std::array<uint32_t, 64> words{};
  for (size_t i = 0; i < 16; ++i) {
    words[i] = static_cast<uint32_t>(block[4 * i]) << 24 |
               static_cast<uint32_t>(block[4 * i + 1]) << 16 |
               static_cast<uint32_t>(block[4 * i + 2]) << 8 | block[4 * i + 3];
  }
  for (size_t i = 16; i < 64; ++i) {
    const uint32_t a = words[i - 15], b = words[i - 2];
    words[i] = words[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3)) + words[i - 7] +
               (std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10));
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (size_t i = 0; i < 64; ++i) {
    const uint32_t one = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                         ((e & f) ^ (~e & g)) + kRounds[i] + words[i];
    const uint32_t two =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + one;
    d = c;
    c = b;
    b = a;
    a = one + two;
  }
  const std::array<uint32_t, 8> added = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < added.size(); ++i) state_[i] += added[i];
}

void Sha256::add(std::span<const uint8_t> bytes) {
  for (const uint8_t byte : bytes) {
    rest_[size_ % kBlock] = byte;
    if (++size_ % kBlock == 0) add_block(rest_.data());
  }
}

Digest Sha256::finish() {
  const uint64_t bits = size_ * 8;
  constexpr uint8_t kEnd = 0x80, kFill = 0;
  add({&kEnd, 1});
  while (size_ % kBlock != kBlock - sizeof bits) add({&kFill, 1});
  for (unsigned shift = 64; shift > 0; shift -= 8) {
    const auto byte = static_cast<uint8_t>(bits >> (shift - 8));
    add({&byte, 1});
  }
  Digest digest{};
  for (size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
  }
  return digest;
}

Digest hmac_sha256(std::span<const uint8_t> key, std::span<const uint8_t> message) {
  std::array<uint8_t, 64> pad{};
  Digest hashed{};
  if (key.size() > pad.size()) {
    Sha256 of_key;
    of_key.add(key);
    hashed = of_key.finish();
    key = hashed;
  }
  constexpr uint8_t kInner = 0x36, kOuter = 0x5c;
  for (size_t i = 0; i < pad.size(); ++i) pad[i] = (i < key.size() ? key[i] : uint8_t{0}) ^ kInner;
  Sha256 inner;
  inner.add(pad);
  inner.add(message);
  const Digest digest = inner.finish();
  for (uint8_t& byte : pad) byte ^= kInner ^ kOuter;
  Sha256 outer;
  outer.add(pad);
  outer.add(digest);
  return outer.finish();
}

bool equal_in_constant_time(const Digest& a, const Digest& b) {
  uint8_t different = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    different = static_cast<uint8_t>(different | (a[i] ^ b[i]));
  }
  // The compiler is not to end the loop early.
  asm volatile("" : "+r"(different));
  return different == 0;
}

}  // namespace sampan::preload
