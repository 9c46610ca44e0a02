// The parts of the page, each a text of whole lines, or empty when there is nothing to say.
#pragma once

#include <string>

#include "reports/report.h"
#include "reports/style.h"
#include "reports/summary.h"

namespace sampan::reports {

// What a section is made of.
struct Context {
  const profile::View& view;
  const Summary& summary;
  const PageOptions& options;
  Style style;

  const profile::Profile& profile() const { return *view.profile; }
};

// Whether threads that only wait are left out: unless they were asked for, or there are no others.
bool hide_idle(const Context& context);

// heading.cpp: what ran, how long, how well it was sampled, what was lost.
std::string heading(const Context& context);
// threads.cpp
std::string threads_section(const Context& context);
std::string processes_section(const Context& context);  // empty for a single process
// waits.cpp: in what was waited, by threads of one name together. Empty without waiting samples.
std::string waits_section(const Context& context);
// named_sections.cpp: those of the program. Empty where it named none.
std::string named_sections_section(const Context& context);
// functions.cpp: the flat table, of functions or of what else options.by says.
std::string flat_section(const Context& context);
// tree.cpp
std::string tree_section(const Context& context);
// callers.cpp: throws Error when no function's name contains options.callers.
std::string callers_section(const Context& context);

}  // namespace sampan::reports
