#include "exporters/sample_labels.h"

#include <utility>

#include "base/interner.h"

namespace sampan::exporters {

SampleLabels sample_labels(const profile::View& view) {
  profile::TaskLabels tasks = profile::task_labels(view);
  SampleLabels result{.tasks = std::move(tasks.texts)};
  if (tasks.of_samples.empty() && view.profile->contexts.empty()) return result;
  Interner<std::pair<uint32_t, uint32_t>> known;
  known.intern(std::pair(0u, profile::kNone));
  for (size_t i = 0; i < view.samples.size(); ++i) {
    const uint32_t task = tasks.of_samples.empty() ? 0 : tasks.of_samples[i];
    const uint32_t context = view.profile->samples[view.samples[i]].context;
    const auto [label, is_new] = known.intern(std::pair(task, context));
    if (is_new) result.labels.push_back({task, context});
    result.of_samples.push_back(label);
  }
  return result;
}

}  // namespace sampan::exporters
