// How far off a share of samples may be: the variance of "this much of the time is spent in f",
// from the samples of one run.
//
// Samples are not independent: a function's come in bursts, because a program does one thing and
// then another. So time is cut into blocks of equally many samples. A function's excess in a block
// is its weight there less its share of the block's; neighbouring blocks are compared (successive
// differences, as for systematic samples: Wolter, "Introduction to Variance Estimation", 8.2), so
// that what changes slowly, and does so in every run, is not taken for noise. Bursts that are
// longer than a block hide in it, so several lengths are tried, each twice the one before, and the
// largest variance counts; at least that of independent samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sampan::profile {

class ShareNoise {
 public:
  // `weights` of all samples, in order of time.
  explicit ShareNoise(const std::vector<double>& weights);

  size_t blocks() const { return block_weights_.size(); }
  // The block that a sample is in.
  size_t block_of(size_t sample) const { return sample * blocks() / samples_; }
  double total() const { return total_; }

  // What is known of one function.
  struct Part {
    double weight = 0;                  // of its samples
    double squares = 0;                 // sum of the squares of their weights
    std::vector<double> by_block = {};  // its weight in each block
  };
  // Of its share, weight / total().
  double variance(const Part& part) const;

 private:
  size_t samples_;
  double total_ = 0;
  double squares_ = 0;
  std::vector<double> block_weights_;
};

// The z that a normal variable is beyond, on either side, with this probability.
double two_sided_quantile(double probability);

}  // namespace sampan::profile
