// Compares the functions of two runs, and says which differences are more than noise.
//
// It compares shares: a function's part of the run's time (`kTime`) or of its samples (`kSamples`).
// Seconds would also compare machines: how busy they were, how fast their clocks. So when one
// function's share grows, those of the others shrink a little.
//
// Each change has a margin. With the stated confidence, the true changes of *all* functions are
// within change ± margin (Bonferroni): for two runs of the same program no change is beyond its
// margin. Real differences between the runs, such as a lookup that missed a cache, are not noise of
// sampling, and not part of the margin.
//
// Both runs are in one profile (load_sides() in load.h), so that everything that shows profiles can
// show both sides. Each thread is on side 0 or 1 (Thread::side); Profile::sides has their names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/function_shares.h"
#include "profile/profile.h"
#include "profile/view.h"
#include "profile/weights.h"

namespace sampan::profile {

struct DiffOptions {
  using By = ShareBy;
  using Of = ShareOf;
  By by = By::kTime;
  Of of = Of::kSelf;
  double confidence = 0.99;  // that no change beyond noise is false
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
  std::vector<Change> changes;  // those beyond noise first, then by size
  size_t beyond_noise = 0;      // how many
  size_t too_few = 0;           // functions with too few samples to compare
};

// The profile has sides, is symbolized and matched. Throws Error when a side has no
// samples.
Diff diff(const View& view, const DiffOptions& options = {});

// Gives equal functions of a symbolized profile one handle, the first one's. A function is the same on both sides when its name, its file's name and its module's name are
// equal. Directories and lines are ignored: programs that are compared were mostly rebuilt elsewhere,
// and their lines have moved.
void match_functions(Profile& profile);

// The part of the view that is on one side.
View only_side(const View& view, unsigned side);

}  // namespace sampan::profile
