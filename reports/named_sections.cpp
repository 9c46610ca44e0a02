// The table of the program's sections, those with the longest occurrences first. A view of one
// section has no such table.
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/text/readable.h"
#include "profile/sections.h"
#include "reports/sections.h"
#include "reports/table.h"

namespace sampan::reports {
namespace {

constexpr size_t kShownSections = 10;

}  // namespace

std::string named_sections_section(const Context& context) {
  const profile::Profile& profile = context.profile();
  if (profile.markers.sections.empty() || context.view.section) return "";
  const std::vector<profile::NamedSection> sections =
      profile::longest_sections(profile::named_sections(profile), SIZE_MAX);
  const size_t shown =
      context.options.top == 0 ? sections.size() : std::min(sections.size(), kShownSections);
  const bool waits = context.view.is_of_wall_time();
  Table table({{.title = "times"},
               {.title = "wall"},
               {.title = "longest"},
               {.title = "CPU"},
               {.title = waits ? "waited" : ""},
               {.title = "samples"},
               {.title = "section", .left = true, .minimum = 20}});
  uint64_t unclosed = 0;
  for (size_t i = 0; i < sections.size(); ++i) {
    unclosed += sections[i].unclosed;
    if (i >= shown) continue;
    const profile::SectionWeight weight = section_weight(context.view, sections[i]);
    table.add({count(sections[i].rows.size()), seconds(sections[i].wall_ns),
               seconds(sections[i].longest_ns), seconds(weight.cpu.ns),
               waits ? seconds(weight.waiting.ns) : "",
               count(weight.cpu.samples + weight.waiting.samples),
               printable(profile.markers.texts[sections[i].name])});
  }
  std::string text = context.style.heading("Sections, longest first (seconds)") + "\n" +
                     table.text(context.options.width, context.style);
  const auto line = [&](const std::string& words) {
    text += context.style.faint("  " + words) + "\n";
  };
  if (shown < sections.size()) line(fmt::format("and {} more", count(sections.size() - shown)));
  if (unclosed != 0) {
    line(fmt::format("{} not closed by the program, but by the end of a thread or process",
                     plural(unclosed, "occurrence")));
  }
  return text;
}

}  // namespace sampan::reports
