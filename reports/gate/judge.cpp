#include "reports/gate/judge.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "profile/statistics.h"

namespace sampan::reports {
namespace {

// Student's t understates false alarms for the mean of the middle third of 10 to 60 values, by up to twice if they are
// normally distributed (simulated); this makes up for it.
constexpr double kStudentsPart = 0.5;
constexpr double kMissed = 0.01;  // of one

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

// How many of so many pairs the mean is of: the middle third, but not below 10. By their number the error has its degrees.
uint64_t kept_of(uint64_t pairs) {
  constexpr uint64_t kFewest = 10, kParts = 3;
  const uint64_t cut = (pairs - std::min(pairs, std::max(kFewest, pairs / kParts))) / 2;
  return pairs - 2 * cut;
}

// By how much that increases the variance of a mean of normally distributed values, at most.
double loss_of(uint64_t pairs) {
  constexpr double kAllCut = 0.375;  // 1.25 for the middle third (simulated), 1.57 for a median
  return 1 + kAllCut * (1 - static_cast<double>(kept_of(pairs)) / static_cast<double>(pairs));
}

// The mean of the middle values, and its variance by the winsorized sum of squares (Yuen 1974).
struct TrimmedMean {
  double value = 0, variance = 0;
};

TrimmedMean trimmed_mean(std::vector<double> values, uint64_t kept) {
  std::sort(values.begin(), values.end());
  const auto first = values.begin() + static_cast<ptrdiff_t>((values.size() - kept) / 2);
  const auto end = first + static_cast<ptrdiff_t>(kept);
  const auto middle = static_cast<double>(kept), others = std::max(1.0, middle - 1);
  const double value = std::accumulate(first, end, 0.0) / middle;
  std::fill(values.begin(), first, *first);
  std::fill(end, values.end(), *(end - 1));
  const Series all = series_of(values);
  return {value, all.variance * static_cast<double>(values.size() - 1) / (middle * others)};
}

// How many standard errors a growth must be above 0 to be one, and below the limit not to be that.
struct Distances {
  double alarm, clear;
};

Distances distances(uint64_t degrees, double false_alarm) {
  return {profile::student_quantile(kStudentsPart * false_alarm, degrees),
          profile::student_quantile(kMissed, degrees)};
}

// The smallest number that tells a distance from 0; 0: none up to a thousand does.
uint64_t runs_for(const Estimate& estimate, double distance, double false_alarm) {
  constexpr uint64_t kHighestNumber = 1000;
  const auto loss = [&](uint64_t runs) { return estimate.in_pairs ? loss_of(runs) : 1; };
  const double of_one_run = (estimate.error * estimate.error - estimate.fixed_variance) *
                            static_cast<double>(estimate.runs) / loss(estimate.runs);
  const auto is_enough = [&](uint64_t runs) {
    const double variance = of_one_run * loss(runs) / static_cast<double>(runs);
    const uint64_t degrees = (estimate.in_pairs ? kept_of(runs) : runs) - 1;
    const Distances at = distances(
        degrees_of_sum(estimate.fixed_variance, estimate.fixed_degrees, variance, degrees),
        false_alarm);
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
  const auto pairs = static_cast<double>(before.size());
  const uint64_t kept = kept_of(before.size());
  double low = 0, high = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i] > 0) high = std::max(high, now[i] / before[i]);
  }
  // The ratio that leaves nothing of `now` - `ratio` * `before` in the middle. The higher the ratio, the less is left.
  double ratio = high;
  TrimmedMean rest;
  for (int bit = 0; bit < std::numeric_limits<double>::digits; ++bit) {
    std::vector<double> rests;
    for (size_t i = 0; i < before.size(); ++i) rests.push_back(now[i] - ratio * before[i]);
    rest = trimmed_mean(std::move(rests), kept);
    (rest.value > 0 ? low : high) = ratio;
    ratio = low + (high - low) / 2;
  }
  const double middle = trimmed_mean(before, kept).value;
  const double base = middle > 0 ? middle : series_of(before).mean;
  const double finest = resolution * resolution * (1 + ratio * ratio) / pairs;
  return {.value = ratio - 1,
          .error = std::sqrt(std::max(rest.variance, finest)) / base,
          .degrees = degrees_of(static_cast<double>(kept) - 1),
          .runs = before.size(),
          .in_pairs = true};
}

Judgement judge_growth(const Estimate& growth, double max_growth, double false_alarm) {
  if (growth.runs < 2) return {Verdict::kUnknown, 2};
  const Distances far = distances(growth.degrees, false_alarm);
  if (growth.value + far.clear * growth.error < max_growth) return {Verdict::kHeld};
  if (growth.value > far.alarm * growth.error) return {Verdict::kBroken};
  return {Verdict::kUnknown, runs_for(growth, max_growth, false_alarm)};
}

Judgement judge_maximum(const Estimate& value, double max, double false_alarm) {
  if (value.runs < 2) return {Verdict::kUnknown, 2};
  const Distances far = distances(value.degrees, false_alarm);
  if (value.value + far.clear * value.error < max) return {Verdict::kHeld};
  if (value.value - far.alarm * value.error > max) return {Verdict::kBroken};
  // More runs tell how far it is from the limit, unless it is the limit.
  const double distance = std::abs(value.value - max);
  return {Verdict::kUnknown, distance == 0 ? 0 : runs_for(value, distance, false_alarm)};
}

double margin_of(const Estimate& estimate) {
  constexpr double kHalf = 0.5;
  return estimate.error * profile::student_quantile(kMissed * kHalf, estimate.degrees);
}

}  // namespace sampan::reports
