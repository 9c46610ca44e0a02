// The parts of the page. Each is a text of whole lines, or empty.
#pragma once

#include <string>
#include <string_view>

#include "profile/summary.h"
#include "profile/unit.h"
#include "reports/report.h"
#include "reports/table.h"

namespace sampan::reports {

// The inputs of all sections.
struct Context {
  const profile::View& view;
  const profile::Summary& summary;
  const PageOptions& options;
  Style style;

  const profile::Profile& profile() const { return *view.profile; }
  // The unit of all weights of a section.
  profile::Unit unit() const { return {profile().session, summary.total().ns}; }
};

// Whether threads that only wait are left out. They are shown if the options say so, or if there
// are no others.
bool hide_idle(const Context& context);

// page.cpp: the table below its title, and how many of all rows it does not show.
std::string with_rest(const Context& context, const Table& table, std::string_view title,
                      size_t shown, size_t all);
// How many of all rows are shown: as many as usual, or all if the options say so.
size_t rows_shown(const Context& context, size_t all, size_t usual);

enum class Tone { kPlain, kWarning };
// heading.cpp: "  name      text", with the lines of the text aligned.
std::string item(const Context& context, std::string_view name, std::string_view text,
                 Tone tone = Tone::kPlain);
// heading.cpp: the program, its duration, the quality of the samples, losses.
std::string heading(const Context& context);
// threads.cpp
std::string threads_section(const Context& context);
std::string processes_section(const Context& context);  // empty for a single process
// waits.cpp: what threads waited in; threads of one name together. Empty without waiting samples.
std::string waits_section(const Context& context);
// gil.cpp: who waited for Python's lock, and what its holder did. Empty where no holder is known.
std::string gil_section(const Context& context);
// named_sections.cpp: sections of the program. Empty if it has none.
std::string named_sections_section(const Context& context);
// functions.cpp: the flat table of functions, or of whatever options.by says.
std::string flat_section(const Context& context);
// tree.cpp: the call tree, or the callers or callees of functions.
std::string tree_section(const Context& context);
// Throws Error when no function's name contains options.callers.
std::string callers_section(const Context& context);
// The same with options.callees.
std::string callees_section(const Context& context);
// heap.cpp: items of the heading, and the tables, for a view of the heap.
std::string heap_figures(const Context& context);
std::string heap_section(const Context& context);
// locks.cpp: "mutex queue_lock", "3 mutexes of Pool::Pool"
std::string lock_cell(const profile::Profile& profile, uint32_t lock, wire::LockKind kind,
                      uint64_t locks = 1);
// locks.cpp: the same of a view of locks.
std::string lock_figures(const Context& context);
std::string locks_section(const Context& context);
// critical.cpp: the critical path of options.critical. Throws Error as critical_path() does.
std::string critical_section(const Context& context);
// also_recorded.cpp: spans, counters and the like, with the commands that show them. Empty if there are none.
std::string also_recorded_section(const Context& context);

}  // namespace sampan::reports
