#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/text/readable.h"
#include "reports/report.h"
#include "reports/sections.h"
#include "reports/tasks.h"

namespace sampan::reports {
namespace {

std::string files_section(const Context& context) {
  std::string text;
  for (const OutputFile& file : context.options.files) {
    text += "  " + file.path + "\n";
    if (!file.viewer.empty()) text += "      " + context.style.faint(file.viewer) + "\n";
  }
  return text.empty() ? text : context.style.heading("Files") + "\n" + text;
}

std::string chosen_section(const Context& context) {
  if (!context.options.callers.empty()) return callers_section(context);
  if (!context.options.callees.empty()) return callees_section(context);
  if (!context.options.critical.empty()) return critical_section(context);
  if (context.options.tasks) return tasks_section(context);
  if (context.options.tree) return tree_section(context);
  if (context.options.by == By::kFunction) {
    if (context.profile().shown == profile::Shown::kHeap) return heap_section(context);
    if (context.profile().shown == profile::Shown::kLocks) return locks_section(context);
  }
  return flat_section(context);
}

std::string main_section(const Context& context) {
  if (!hide_idle(context)) return chosen_section(context);
  const profile::View busy = profile::busy_part(context.view, context.summary);
  const profile::Summary summary = profile::summarize(busy);
  return chosen_section({busy, summary, context.options, context.style});
}

}  // namespace

bool hide_idle(const Context& context) {
  if (context.profile().shown == profile::Shown::kLocks) return false;  // waiting is what is shown
  const std::vector<profile::ThreadSummary>& threads = context.summary.threads;
  const auto only_waits = [](const profile::ThreadSummary& row) { return row.only_waits(); };
  return !context.options.idle && std::any_of(threads.begin(), threads.end(), only_waits) &&
         !std::all_of(threads.begin(), threads.end(), only_waits);
}

std::string with_rest(const Context& context, const Table& table, std::string_view title,
                      size_t shown, size_t all) {
  std::string text =
      context.style.heading(title) + "\n" + table.text(context.options.width, context.style);
  if (shown < all) {
    text += context.style.faint(fmt::format("  and {} more", count(all - shown))) + "\n";
  }
  return text;
}

size_t rows_shown(const Context& context, size_t all, size_t usual) {
  return context.options.top == 0 ? all : std::min(all, usual);
}

std::string page(const profile::View& view, const PageOptions& options) {
  const profile::Summary summary = profile::summarize(view);
  const Context context{view, summary, options, Style(options.colour)};
  std::string text;
  for (const std::string& section :
       {heading(context), processes_section(context), threads_section(context),
        waits_section(context), gil_section(context), named_sections_section(context),
        main_section(context), also_recorded_section(context), files_section(context)}) {
    if (!text.empty() && !section.empty()) text += '\n';
    text += section;
  }
  return text;
}

namespace {

std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// 0: unknown.
unsigned columns_of(int terminal) {
  const std::string_view asked = variable("COLUMNS");
  unsigned columns = 0;
  std::from_chars(asked.data(), asked.data() + asked.size(), columns);
  winsize size{};
  if (columns == 0 && ioctl(terminal, TIOCGWINSZ, &size) == 0) columns = size.ws_col;
  return columns;
}

}  // namespace

PageOptions page_options_for(FILE* stream) {
  PageOptions options;
  const int descriptor = fileno(stream);
  if (isatty(descriptor) == 0) {
    options.width = kUncut;
    return options;
  }
  if (const unsigned columns = columns_of(descriptor); columns != 0) {
    options.width = std::max(columns, kNarrowest);
  }
  const std::string_view terminal = variable("TERM");
  const bool dumb = terminal.empty() || terminal == "dumb";
  options.colour = !dumb && variable("NO_COLOR").empty();  // https://no-color.org
  return options;
}

}  // namespace sampan::reports
