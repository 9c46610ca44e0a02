// The page names what else was recorded, each with the command that shows it.
#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text/readable.h"
#include "reports/sections.h"

namespace sampan::reports {

std::string also_recorded_section(const Context& context) {
  const auto& markers = context.profile().markers;
  std::vector<std::pair<std::string, std::string>> rows;
  if (!markers.spans.empty()) rows.emplace_back(plural(markers.spans.size(), "span"), "spans");
  std::set<uint32_t> counters;
  for (const auto& value : markers.counters) counters.insert(value.name);
  if (!counters.empty()) rows.emplace_back(plural(counters.size(), "counter"), "view");
  if (!markers.events.empty()) rows.emplace_back(plural(markers.events.size(), "event"), "view");
  if (!markers.sections.empty() && !context.view.section) {
    rows.emplace_back("samples of sections", "report --section NAME");
  }
  if (!context.profile().contexts.empty()) {
    rows.emplace_back("requests across services", "spans --traces");
  }
  if (context.view.is_of_wall_time() && context.summary.sampled.samples != 0) {
    rows.emplace_back("stacks of waits", "report --state waiting --tree");
  }
  size_t widest = 0;
  for (const auto& [what, command] : rows) widest = std::max(widest, columns(what));
  std::string text = rows.empty() ? "" : context.style.heading("Also recorded") + "\n";
  const std::string& recording = context.options.recording;
  for (const auto& [what, command] : rows) {
    const std::string words = "sampan " + command + (recording.empty() ? "" : " " + recording);
    text += fmt::format("  {:<{}}  {}\n", what, widest, context.style.faint(words));
  }
  return text;
}

}  // namespace sampan::reports
