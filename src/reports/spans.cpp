// What all forms of the report of spans say beside their rows.
#include "reports/spans.h"

#include <fmt/core.h>

#include "reports/marker_losses.h"
#include "reports/text.h"

namespace sampan::reports {

std::vector<std::string> SpanReport::notes() const {
  std::vector<std::string> notes;
  uint64_t closed[recording::kClosedCount] = {};
  for (const profile::SpanRow& row : table.rows) {
    for (size_t i = 0; i < row.closed.size(); ++i) closed[i] += row.closed[i];
  }
  const auto say_closed = [&](profile::Closed how, const char* what) {
    const uint64_t n = closed[static_cast<size_t>(how)];
    if (n != 0)
      notes.push_back(fmt::format("{} open when {} ended: counted up to there",
                                  plural(n, "span") + (n == 1 ? " was" : " were"), what));
  };
  say_closed(profile::Closed::kByThreadEnd, "the thread");
  say_closed(profile::Closed::kByProcessEnd, "the process");
  const std::vector<std::string> losses = marker_losses(*view.profile);
  notes.insert(notes.end(), losses.begin(), losses.end());
  if (has_times() && !view.profile->has_waits()) {
    notes.push_back("only CPU was sampled: --clock wall tells what spans wait for, too");
  }
  return notes;
}

}  // namespace sampan::reports
