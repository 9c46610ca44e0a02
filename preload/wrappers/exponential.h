// Random distances between sampled allocations. Without libm: it would be a dependency of every target.
//
// Freestanding: linked into the target.
#pragma once

#include <bit>
#include <cstdint>

namespace sampan::preload {

// -ln(u) for 0 < u <= 1, a normal number; the relative error is below 1e-12.
inline double minus_log(double u) {
  constexpr int kMantissaBits = 52, kBias = 1023;
  constexpr double kLog2 = 0.693147180559945309417232;
  constexpr double kRootOf2 = 1.41421356237309504880169;
  const auto bits = std::bit_cast<uint64_t>(u);
  int exponent = static_cast<int>(bits >> kMantissaBits) - kBias;
  constexpr uint64_t kMantissa = (uint64_t{1} << kMantissaBits) - 1;
  double mantissa = std::bit_cast<double>((bits & kMantissa) | uint64_t{kBias} << kMantissaBits);
  if (mantissa > kRootOf2) {
    mantissa /= 2;
    ++exponent;
  }
  // ln m = 2 artanh((m - 1) / (m + 1)), a series of odd powers. Here |s| <= 0.172.
  const double s = (mantissa - 1) / (mantissa + 1), square = s * s;
  double sum = 0;
  for (int power = 15; power >= 1; power -= 2) sum = sum * square + 1.0 / power;
  return -2 * s * sum - exponent * kLog2;
}

// splitmix64 (Steele, Lea, Flood 2014): any seed is as good as another.
inline uint64_t next_random(uint64_t& state) {
  uint64_t value = state += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

// The number of the byte that is drawn next, from 1: exponential with this mean, rounded up. So an
// allocation of S bytes has the drawn one with probability 1 - exp(-S / mean), exactly.
inline uint64_t draw_distance(uint64_t& state, uint64_t mean) {
  constexpr double kUnit = 1.0 / (uint64_t{1} << 53), kMost = 1e18;
  const double u = static_cast<double>((next_random(state) >> 11) + 1) * kUnit;
  const double distance = minus_log(u) * static_cast<double>(mean);
  return distance < kMost ? static_cast<uint64_t>(distance) + 1 : static_cast<uint64_t>(kMost);
}

}  // namespace sampan::preload
