// What two runs spend their time on, function by function, and which differences are more than
// noise.
//
// Compared are shares: a function's time of the run's time (`kTime`), or its samples of the run's
// samples
// (`kSamples`). Seconds would compare machines, too: how busy they were, how fast their clocks. So
// where one function's share grows, those of the others shrink a little.
//
// A change comes with a margin. At the stated confidence the true changes of *all* functions lie
// within change ± margin at once (Bonferroni), so of two runs of the same program none is beyond
// its margin, with that confidence. What the runs themselves did differently, a lookup that missed
// a cache, is no noise of sampling and not in the margin.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/compare.h"
#include "profile/view.h"
#include "profile/weights.h"

namespace sampan::profile {

struct DiffOptions {
  enum class By { kTime, kSamples } by = By::kTime;
  enum class Of { kSelf, kTotal } of = Of::kSelf;
  double confidence = 0.99;  // that no change is ranked which is not there
};

struct Change {
  uint32_t function = kNone;
  Weight weight[2] = {};  // by side
  double share[2] = {};
  double change = 0;  // share[1] - share[0]
  double margin = 0;
  bool beyond_noise() const { return change > margin || -change > margin; }
};

struct Diff {
  DiffOptions options;
  Weight total[2] = {};
  std::vector<Change> changes;  // those beyond noise first, then by size of the change
  size_t beyond_noise = 0;      // as many of them
  size_t too_few = 0;           // functions with too few samples to tell anything
};

// Of a profile with sides (compare.h), symbolized and matched. Throws Error when a side has no
// sample.
Diff diff(const View& view, const DiffOptions& options = {});

}  // namespace sampan::profile
