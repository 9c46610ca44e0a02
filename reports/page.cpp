#include "reports/report.h"

#include <algorithm>
#include <vector>

#include "reports/sections.h"

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

// Without the threads that only wait: they would drown the others.
profile::View busy_part(const Context& context) {
  profile::View busy = context.view;
  std::vector<bool> idle(context.profile().threads.size());
  for (const ThreadSummary& row : context.summary.threads) idle[row.thread] = row.only_waits();
  std::erase_if(busy.threads, [&](uint32_t thread) { return idle[thread]; });
  std::erase_if(busy.samples,
                [&](uint32_t sample) { return idle[context.profile().samples[sample].thread]; });
  return busy;
}

std::string chosen_section(const Context& context) {
  if (!context.options.callers.empty()) return callers_section(context);
  if (context.options.tree) return tree_section(context);
  return flat_section(context);
}

std::string main_section(const Context& context) {
  if (!hide_idle(context)) return chosen_section(context);
  const profile::View busy = busy_part(context);
  const Summary summary = summarize(busy);
  return chosen_section({busy, summary, context.options, context.style});
}

}  // namespace

bool hide_idle(const Context& context) {
  const std::vector<ThreadSummary>& threads = context.summary.threads;
  const auto only_waits = [](const ThreadSummary& row) { return row.only_waits(); };
  return !context.options.idle && std::any_of(threads.begin(), threads.end(), only_waits) &&
         !std::all_of(threads.begin(), threads.end(), only_waits);
}

std::string page(const profile::View& view, const PageOptions& options) {
  const Summary summary = summarize(view);
  const Context context{view, summary, options, Style(options.colour)};
  std::string text;
  for (const std::string& section :
       {heading(context), processes_section(context), threads_section(context),
        waits_section(context), named_sections_section(context), main_section(context),
        files_section(context)}) {
    if (!text.empty() && !section.empty()) text += '\n';
    text += section;
  }
  return text;
}

}  // namespace sampan::reports
