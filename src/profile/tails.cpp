#include "profile/tails.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sampan::profile {
namespace {

// Beyond, Student's t is normal.
constexpr uint64_t kManyDegrees = 2000;

}  // namespace

double binomial_tail(uint64_t tries, double probability, uint64_t hits) {
  if (hits == 0 || probability >= 1) return 1;
  if (hits > tries || probability <= 0) return 0;
  const auto n = static_cast<double>(tries);
  double sum = 0;
  for (uint64_t i = hits; i <= tries; ++i) {
    const auto k = static_cast<double>(i);
    const double term = std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) +
                                 k * std::log(probability) + (n - k) * std::log1p(-probability));
    sum += term;
    if (k > n * probability && term < sum * 1e-12) break;  // they only become smaller
  }
  return std::min(sum, 1.0);
}

// Abramowitz and Stegun, "Handbook of Mathematical Functions", 26.7.3 and 26.7.4.
double student_tail(double t, uint64_t degrees) {
  if (t <= 0) return 1 - (t == 0 ? 0.5 : student_tail(-t, degrees));
  if (degrees > kManyDegrees) return std::erfc(t / std::numbers::sqrt2) / 2;
  const double angle = std::atan(t / std::sqrt(static_cast<double>(degrees)));
  const double cosine = std::cos(angle);
  const bool odd = degrees % 2 == 1;
  double term = odd ? cosine : 1, sum = 0;
  for (uint64_t i = odd ? 1 : 0; i + 2 <= degrees; i += 2) {
    sum += term;
    term *= cosine * cosine * static_cast<double>(i + 1) / static_cast<double>(i + 2);
  }
  const double within =
      odd ? 2 / std::numbers::pi * (angle + std::sin(angle) * sum) : std::sin(angle) * sum;
  return std::max(0.0, (1 - within) / 2);
}

}  // namespace sampan::profile
