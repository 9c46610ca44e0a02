#include "profile/call_tree.h"
#include "reports/sections.h"
#include "reports/tree_text.h"

namespace sampan::reports {

std::string tree_section(const Context& context) {
  if (context.summary.total().samples == 0) return "";
  return context.style.heading("Call tree (seconds)") + "\n" +
         tree_text(context, call_tree(context.view), {.self = true});
}

}  // namespace sampan::reports
