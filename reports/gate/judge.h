// Whether budgets hold: by the figures of several runs, against a limit or against those of a baseline.
//
// A verdict that is a guess is none. With a limit of 5 % growth, `held` means that a growth of 5 % would have been seen
// with 99 % probability, and `broken` that the growth is more than what equal programs show with 99.9 % probability
// (Budget::confidence), for all budgets together (Bonferroni). If the runs differ too much for either, the verdict is `unknown`, with the number of
// runs that would be enough. So equal programs break a gate once in a thousand, and a program that grew by the limit
// passes once in a hundred, however noisy the machine is.
//
// The error of a mean is that of its runs' values, by Student's t: Welch's where the two sides ran at different times, that
// of the pairs' differences where they ran in turn, which cancels what both saw. A machine with other work makes some runs
// slower by a half, on either side: so the growth of pairs is that of their middle third (at least 10 pairs), for which a
// sixth of the runs is enough on such a machine. Samples are coarse: two runs with one sample
// each are equal by chance. So the values of runs differ at least by their resolution, what one sample stands for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reports/gate/budgets.h"

namespace sampan::reports {

// The values of one figure, a run each; what a baseline file keeps of them.
struct Series {
  double mean = 0;
  double variance = 0;  // of one run
  uint64_t runs = 0;
};

Series series_of(const std::vector<double>& values, double resolution = 0);

// A figure and its standard error.
struct Estimate {
  double value = 0;
  double error = 0;
  uint64_t degrees = 1;  // of freedom of the error
  uint64_t runs = 0;
  // The part of the error, squared, that more runs do not lessen: that of a baseline file.
  double fixed_variance = 0;
  uint64_t fixed_degrees = 1;
  bool in_pairs = false;  // of the middle ones
};

Estimate mean_of(const Series& series);
// How much more `now` is than `before`: 0.05 is 5 %. `before` is not 0.
Estimate growth_of(const Series& before, const Series& now);
// The same for runs in turn: as many values, in pairs.
Estimate paired_growth(const std::vector<double>& before, const std::vector<double>& now,
                       double resolution = 0);

enum class Verdict { kHeld, kBroken, kUnknown };

struct Judgement {
  Verdict verdict = Verdict::kUnknown;
  uint64_t runs_needed = 0;  // kUnknown: 0 if no number is enough
};

// `false_alarm`: the probability that this verdict is kBroken for what is as fast as before, or below the limit.
Judgement judge_maximum(const Estimate& value, double max, double false_alarm);
Judgement judge_growth(const Estimate& growth, double max_growth, double false_alarm);

// The half width of the interval that the true value is in with 99 % probability.
double margin_of(const Estimate& estimate);

}  // namespace sampan::reports
