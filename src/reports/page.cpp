#include "reports/report.h"
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

std::string main_section(const Context& context) {
  if (!context.options.callers.empty()) return callers_section(context);
  if (context.options.tree) return tree_section(context);
  return flat_section(context);
}

}  // namespace

std::string page(const profile::View& view, const PageOptions& options) {
  const Summary summary = summarize(view);
  const Context context{view, summary, options, Style(options.colour)};
  std::string text;
  for (const std::string& section :
       {heading(context), processes_section(context), threads_section(context),
        main_section(context), files_section(context)}) {
    if (!text.empty() && !section.empty()) text += '\n';
    text += section;
  }
  return text;
}

}  // namespace sampan::reports
