#include "profile/share_noise.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace sampan::profile {
namespace {

constexpr size_t kMostBlocks = 256;
constexpr size_t kFewestBlocks = 16;  // with fewer, their variance is itself a guess
constexpr size_t kSamplesPerBlock = 16;

size_t block_count(size_t samples) {
  return std::clamp<size_t>(std::bit_floor(samples / kSamplesPerBlock), 1, kMostBlocks);
}

// Of the sum of the excesses, were it made of blocks as these.
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
  // One sample more than there are: of a function without any, something is known all the same.
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

}  // namespace sampan::profile
