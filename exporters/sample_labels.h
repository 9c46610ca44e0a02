// What viewers can filter samples by besides their thread: the task of an event loop, and the request
// across services.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/loop_steps.h"
#include "profile/profile.h"
#include "profile/view.h"

namespace sampan::exporters {

struct SampleLabel {
  uint32_t task = 0;                  // into SampleLabels::tasks; 0: none
  uint32_t context = profile::kNone;  // of the profile
};

struct SampleLabels {
  std::vector<std::string> tasks = {""};
  std::vector<SampleLabel> labels = {{}};
  std::vector<uint32_t> of_samples = {};  // into labels, by position in view.samples; empty: all 0
};

SampleLabels sample_labels(const profile::View& view);

}  // namespace sampan::exporters
