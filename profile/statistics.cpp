#include "profile/statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

namespace sampan::profile {
namespace {

// With more, Student's t is practically normal.
constexpr uint64_t kManyDegrees = 2000;

constexpr size_t kMostBlocks = 256;
constexpr size_t kFewestBlocks = 16;  // with fewer, their variance is a guess
constexpr size_t kSamplesPerBlock = 16;

size_t block_count(size_t samples) {
  return std::clamp<size_t>(std::bit_floor(samples / kSamplesPerBlock), 1, kMostBlocks);
}

// The variance of the sum of the excesses over blocks like these.
double successive_differences(const std::vector<double>& excess) {
  double sum = 0;
  for (size_t i = 1; i < excess.size(); ++i) {
    sum += (excess[i] - excess[i - 1]) * (excess[i] - excess[i - 1]);
  }
  const auto blocks = static_cast<double>(excess.size());
  return sum * blocks / (2 * (blocks - 1));
}

void join_neighbours(std::vector<double>& blocks) {
  for (size_t i = 0; i < blocks.size() / 2; ++i) blocks[i] = blocks[2 * i] + blocks[2 * i + 1];
  blocks.resize(blocks.size() / 2);
}

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

double student_quantile(double probability, uint64_t degrees) {
  double low = 0, high = 1;
  while (student_tail(high, degrees) > probability) high *= 2;
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    (student_tail(middle, degrees) > probability ? low : high) = middle;
  }
  return high;
}

ShareNoise::ShareNoise(const std::vector<double>& weights)
    : samples_(std::max<size_t>(weights.size(), 1)), block_weights_(block_count(samples_)) {
  for (size_t i = 0; i < weights.size(); ++i) {
    total_ += weights[i];
    squares_ += weights[i] * weights[i];
    block_weights_[block_of(i)] += weights[i];
  }
}

double ShareNoise::variance(const Part& part) const {
  if (total_ <= 0) return 0;
  const double share = part.weight / total_;
  // One more sample than there are, so that functions without samples have a variance, too.
  const double one_more = squares_ / static_cast<double>(samples_);
  double largest = part.squares * (1 - 2 * share) + share * share * squares_ + one_more;
  std::vector<double> excess(blocks());
  for (size_t i = 0; i < blocks(); ++i) excess[i] = part.by_block[i] - share * block_weights_[i];
  for (; excess.size() >= kFewestBlocks; join_neighbours(excess)) {
    largest = std::max(largest, successive_differences(excess));
  }
  return largest / (total_ * total_);
}

double two_sided_quantile(double probability) {
  double low = 0, high = 40;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(middle / std::sqrt(2.0)) > probability ? low : high) = middle;
  }
  return high;
}

double error_95(double variance) {
  static const double z = two_sided_quantile(0.05);
  return z * std::sqrt(variance);
}

}  // namespace sampan::profile
