// Statistics of samples: tails of distributions, and the sampling error of a share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sampan::profile {

// The probability that at least `hits` of `tries` independent events with this probability happen.
double binomial_tail(uint64_t tries, double probability, uint64_t hits);

// The probability that Student's t with these degrees of freedom (at least 1) exceeds `t`.
double student_tail(double t, uint64_t degrees);

// The t that Student's t exceeds with this probability, which is below one half.
double student_quantile(double probability, uint64_t degrees);

// The sampling error of a function's share of the time: its variance, estimated from one run.
//
// Samples are not independent: a function's samples come in bursts, because a program does one
// thing after another. So time is cut into blocks with equal numbers of samples. A function's
// excess in a block is its weight there minus its share of the block's weight. Neighbouring blocks
// are compared (successive differences, as for systematic samples: Wolter, "Introduction to
// Variance Estimation", 8.2), so that slow changes, which every run has, do not count as noise. A
// block hides bursts that are longer than itself, so several lengths are tried, each twice the
// previous one. The largest variance counts, and at least that of independent samples.
class ShareNoise {
 public:
  // `weights` of all samples, in order of time.
  explicit ShareNoise(const std::vector<double>& weights);

  size_t blocks() const { return block_weights_.size(); }
  // The block that a sample is in.
  size_t block_of(size_t sample) const { return sample * blocks() / samples_; }
  double total() const { return total_; }

  // Sums for one function.
  struct Part {
    double weight = 0;                  // of its samples
    double squares = 0;                 // sum of the squares of their weights
    std::vector<double> by_block = {};  // its weight in each block
  };
  // The variance of its share, weight / total().
  double variance(const Part& part) const;

 private:
  size_t samples_;
  double total_ = 0;
  double squares_ = 0;
  std::vector<double> block_weights_;
};

// The z for which a standard normal variable is outside ±z with this probability.
double two_sided_quantile(double probability);
// The half width of the interval that has the truth with a probability of 95 %.
double error_95(double variance);

}  // namespace sampan::profile
