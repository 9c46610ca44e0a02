#include "reports/gate/judge.h"

#include <algorithm>
#include <cmath>

#include "profile/statistics.h"

namespace sampan::reports {
namespace {

constexpr double kFalseAlarm = 0.001;  // of all verdicts together
constexpr double kMissed = 0.01;       // of one

uint64_t degrees_of(double degrees) {
  return static_cast<uint64_t>(std::max(1.0, std::floor(degrees)));
}

// The degrees of freedom of the sum of two independent parts (Welch and Satterthwaite).
uint64_t degrees_of_sum(double a, uint64_t degrees_a, double b, uint64_t degrees_b) {
  const double divisor =
      a * a / static_cast<double>(degrees_a) + b * b / static_cast<double>(degrees_b);
  return degrees_of(divisor == 0 ? static_cast<double>(std::min(degrees_a, degrees_b))
                                 : (a + b) * (a + b) / divisor);
}

// How many standard errors a growth must be above 0 to be one, and below the limit not to be that.
struct Distances {
  double alarm, clear;
};

Distances distances(uint64_t degrees, size_t verdicts) {
  const auto all = static_cast<double>(std::max<size_t>(verdicts, 1));
  return {profile::student_quantile(kFalseAlarm / all, degrees),
          profile::student_quantile(kMissed, degrees)};
}

// The smallest number that tells a distance from 0; 0: none up to a thousand does.
uint64_t runs_for(const Estimate& estimate, double distance, size_t verdicts) {
  constexpr uint64_t kHighestNumber = 1000;
  const double of_one_run = (estimate.error * estimate.error - estimate.fixed_variance) *
                            static_cast<double>(estimate.runs);
  const auto is_enough = [&](uint64_t runs) {
    const double variance = of_one_run / static_cast<double>(runs);
    const Distances at = distances(
        degrees_of_sum(estimate.fixed_variance, estimate.fixed_degrees, variance, runs - 1),
        verdicts);
    return (at.alarm + at.clear) * std::sqrt(estimate.fixed_variance + variance) <= distance;
  };
  if (!is_enough(kHighestNumber)) return 0;
  uint64_t low = estimate.runs, high = kHighestNumber;  // not enough, enough
  while (high - low > 1) {
    const uint64_t middle = (low + high) / 2;
    (is_enough(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace

Series series_of(const std::vector<double>& values, double resolution) {
  Series series{.runs = values.size()};
  if (values.empty()) return series;
  const auto runs = static_cast<double>(values.size());
  for (const double value : values) series.mean += value / runs;
  for (const double value : values) {
    series.variance += (value - series.mean) * (value - series.mean) / std::max(1.0, runs - 1);
  }
  series.variance = std::max(series.variance, resolution * resolution);
  return series;
}

Estimate mean_of(const Series& series) {
  const auto runs = static_cast<double>(std::max<uint64_t>(series.runs, 1));
  return {.value = series.mean,
          .error = std::sqrt(series.variance / runs),
          .degrees = degrees_of(runs - 1),
          .runs = series.runs};
}

// Relative to the mean before, to the first order: the error of a quotient of means.
Estimate growth_of(const Series& before, const Series& now) {
  const double ratio = now.mean / before.mean;
  const auto relative = [&before](const Series& series) {
    return series.variance / (before.mean * before.mean) / static_cast<double>(series.runs);
  };
  const double fixed = relative(before) * ratio * ratio, own = relative(now);
  const uint64_t fixed_degrees = degrees_of(static_cast<double>(before.runs) - 1);
  return {.value = ratio - 1,
          .error = std::sqrt(fixed + own),
          .degrees = degrees_of_sum(fixed, fixed_degrees, own,
                                    degrees_of(static_cast<double>(now.runs) - 1)),
          .runs = now.runs,
          .fixed_variance = fixed,
          .fixed_degrees = fixed_degrees};
}

Estimate paired_growth(const std::vector<double>& before, const std::vector<double>& now,
                       double resolution) {
  const double mean = series_of(before).mean, ratio = series_of(now).mean / mean;
  std::vector<double> residuals;  // of now = ratio * before, as in a ratio estimate
  for (size_t i = 0; i < before.size(); ++i) {
    residuals.push_back((now[i] - ratio * before[i]) / mean);
  }
  Estimate growth = mean_of(series_of(residuals, resolution / mean * std::sqrt(1 + ratio * ratio)));
  growth.value = ratio - 1;
  return growth;
}

Judgement judge_growth(const Estimate& growth, double max_growth, size_t verdicts) {
  if (growth.runs < 2) return {Verdict::kUnknown, 2};
  const Distances far = distances(growth.degrees, verdicts);
  if (growth.value + far.clear * growth.error < max_growth) return {Verdict::kHeld};
  if (growth.value > far.alarm * growth.error) return {Verdict::kBroken};
  return {Verdict::kUnknown, runs_for(growth, max_growth, verdicts)};
}

Judgement judge_maximum(const Estimate& value, double max, size_t verdicts) {
  if (value.runs < 2) return {Verdict::kUnknown, 2};
  const Distances far = distances(value.degrees, verdicts);
  if (value.value + far.clear * value.error < max) return {Verdict::kHeld};
  if (value.value - far.alarm * value.error > max) return {Verdict::kBroken};
  // More runs tell how far it is from the limit, unless it is the limit.
  const double distance = std::abs(value.value - max);
  return {Verdict::kUnknown, distance == 0 ? 0 : runs_for(value, distance, verdicts)};
}

double margin_of(const Estimate& estimate) {
  constexpr double kHalf = 0.5;
  return estimate.error * profile::student_quantile(kMissed * kHalf, estimate.degrees);
}

}  // namespace sampan::reports
