#include "exporters/call_graph.h"

#include <utility>

#include "exporters/escaped_text.h"
#include "exporters/stack_nodes.h"
#include "exporters/thread_names.h"
#include "profile/python_modules.h"

namespace sampan::exporters {

using profile::CallNode;
using profile::CallTree;
using profile::kNone;

CallGraph::CallGraph(const profile::View& view, const std::vector<profile::WeightedStack>& rows)
    : profile_(*view.profile),
      python_modules_(profile::python_modules(profile_)),
      known_functions_(profile_.functions.size() + 1, kNone) {
  const std::vector<std::string> labels = thread_labels(view);
  for_each_thread_tree(
      view, rows,
      [&](size_t position, const CallTree& tree) {
        const profile::Thread& thread = profile_.threads[view.threads[position]];
        const std::string& program = profile_.processes[thread.process].path;
        add_thread(add({"<" + labels[position] + ">", "", one_line(program)}), tree);
      },
      profile::Granularity::kLine);
}

void CallGraph::add_thread(uint32_t thread, const CallTree& tree) {
  struct Step {
    uint32_t node, function, site;
    bool entered;
  };
  std::vector<uint32_t> on_path(functions_.size(), 0);  // how often the walk is inside it
  std::vector<Step> steps{{0, thread, site_of(thread, 0, 0), false}};
  while (!steps.empty()) {
    const Step step = steps.back();
    if (step.entered) {
      --on_path[step.function];
      steps.pop_back();
      continue;
    }
    steps.back().entered = true;
    ++on_path[step.function];
    sites_[step.site].self += tree[step.node].self;
    for (const uint32_t child : tree.children(step.node)) {
      const CallNode& node = tree[child];
      const uint32_t function = function_of(node);
      on_path.resize(functions_.size());
      Call& entry = call(step.site, function);
      entry.count += node.total.samples;
      if (on_path[function] == 0) entry.cost += node.total;
      steps.push_back({child, function, site_of(function, node.file, node.line), false});
    }
  }
}

uint32_t CallGraph::add(Function function) {
  const auto [index, is_new] =
      function_texts_.intern(function.name + '\n' + function.file + '\n' + function.module);
  if (is_new) functions_.push_back(std::move(function));
  return index;
}

uint32_t CallGraph::function_of(const CallNode& node) {
  const bool named = node.function != kNone;
  uint32_t& known = named ? known_functions_[node.function] : known_functions_.back();
  if (known != kNone) return known;
  Function function{one_line(profile::function_name(profile_, node.function)), "", ""};
  if (named) {
    const profile::Function& row = profile_.functions[node.function];
    function.file = one_line(profile_.strings[row.file]);
    function.line = row.line;
    function.module =
        one_line(row.module != kNone ? std::string_view(profile_.modules[row.module].path)
                                     : python_modules_[node.function]);
  }
  return known = add(std::move(function));
}

uint32_t CallGraph::site_of(uint32_t function, uint32_t file, uint32_t line) {
  const auto [index, is_new] = site_keys_.intern(std::pair(uint64_t{function} << 32 | file, line));
  if (is_new) sites_.push_back({function, file, line});
  return index;
}

CallGraph::Call& CallGraph::call(uint32_t site, uint32_t callee) {
  const auto [index, is_new] = call_ends_.intern(uint64_t{site} << 32 | callee);
  if (is_new) calls_.push_back({site, callee});
  return calls_[index];
}

}  // namespace sampan::exporters
