// Samples summed by stack: every table, tree and folded file starts from them. A profile has many
// more samples than stacks, so each stack is walked only once.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/view.h"

namespace sampan::profile {

struct Weight {
  uint64_t ns = 0;  // of CPU, or of waiting
  uint64_t samples = 0;

  Weight& operator+=(const Weight& other) {
    ns += other.ns;
    samples += other.samples;
    return *this;
  }
  friend bool operator==(const Weight&, const Weight&) = default;
};

struct WeightedStack {
  uint32_t thread = kNone;  // kNone in by_stack()
  uint32_t stack = kNone;   // kNone: samples without a stack
  Weight weight = {};
  uint32_t label = 0;  // of by_thread_and_stack(), if samples have labels
};

// One row per stack that has samples in the view; by stack, kNone last.
std::vector<WeightedStack> by_stack(const View& view);
// One row per thread and stack; threads in the view's order, then by stack, kNone last. If there are
// labels, by position in view.samples: one per thread, label and stack, in this order.
std::vector<WeightedStack> by_thread_and_stack(const View& view,
                                               const std::vector<uint32_t>& labels = {});

// The sum over the view.
Weight total_weight(const View& view);

}  // namespace sampan::profile
