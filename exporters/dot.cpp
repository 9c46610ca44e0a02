// A call graph for Graphviz: `dot -Tsvg FILE`, or xdot. Grammar:
// https://graphviz.org/doc/info/lang.html
//
// A node is a function: its share of the time itself, and with all that it called; redder the more.
// An edge is the calls from one function to another, as wide as the time inside them. `self_ns` and
// `total_ns` are no attributes of Graphviz: it keeps them for programs that read the graph. They are
// `self` and `total` where an imported profile counts no time. What is too light to be seen is left
// out, and a note says how much; the shares stay those of the whole.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/text/readable.h"
#include "exporters/call_graph.h"
#include "exporters/formats.h"
#include "exporters/output_file.h"
#include "profile/unit.h"
#include "profile/weights.h"

namespace sampan::exporters {
namespace {

// The thresholds of `pprof -dot`: larger graphs cannot be read.
constexpr double kLeastNode = 0.005, kLeastEdge = 0.001;

// A double-quoted string: only a quote and a backslash end or change it.
std::string dot_string(std::string_view text) {
  std::string result = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') result += '\\';
    result += letter;
  }
  return result + '"';
}

class DotWriter {
 public:
  DotWriter(const profile::View& view, OutputFile& file)
      : session_(view.profile->session),
        graph_(view, profile::by_thread_and_stack(view)),
        nodes_(graph_.functions().size()),
        file_(file) {
    for (const CallGraph::Site& site : graph_.sites()) {
      nodes_[site.function].self_ns += site.self.ns;
      all_ns_ += site.self.ns;
    }
    for (const CallGraph::Call& call : graph_.calls()) {
      const uint32_t caller = graph_.sites()[call.site].function;
      edges_[{caller, call.callee}] += call.cost.ns;
      nodes_[call.callee].called_ns += call.cost.ns;
      nodes_[caller].calls_ns += call.cost.ns;
    }
  }

  Outcome write() {
    file_.write(
        "digraph sampan {\n"
        "  node [shape=box style=filled fontname=\"Helvetica\"]\n"
        "  edge [fontname=\"Helvetica\"]\n");
    for (uint32_t function = 0; function < nodes_.size(); ++function) write_node(function);
    for (const auto& [ends, cost_ns] : edges_) write_edge(ends.first, ends.second, cost_ns);
    file_.write("}\n");
    if (left_out_ == 0) return {};
    return {{fmt::format("{} below {:g} % of the time left out", plural(left_out_, "function"),
                         100 * kLeastNode)}};
  }

 private:
  struct Node {
    uint64_t self_ns = 0, called_ns = 0, calls_ns = 0;
    // Threads are not called.
    uint64_t total_ns() const { return called_ns != 0 ? called_ns : self_ns + calls_ns; }
  };

  // "self_ns=4000000"
  std::string attribute(std::string_view name, uint64_t weight) const {
    return fmt::format("{}{}={}", name, session_.unit.empty() ? "_ns" : "",
                       profile::whole_units(session_, weight));
  }

  double share(uint64_t ns) const {
    return all_ns_ == 0 ? 0 : static_cast<double>(ns) / static_cast<double>(all_ns_);
  }
  bool is_shown(uint32_t function) const {
    return share(nodes_[function].total_ns()) >= kLeastNode;
  }

  void write_node(uint32_t function) {
    const Node& node = nodes_[function];
    if (!is_shown(function)) {
      ++left_out_;
      return;
    }
    const double total = share(node.total_ns());
    file_.write(fmt::format(
        "  f{} [label={} tooltip={} fillcolor=\"0.05 {:.2f} 1\" {} {}]\n", function,
        dot_string(graph_.functions()[function].name) + R"( + "\n)" +
            fmt::format("{:.1f} % of {:.1f} %\"", 100 * share(node.self_ns), 100 * total),
        dot_string(graph_.functions()[function].file), std::sqrt(total),
        attribute("self", node.self_ns), attribute("total", node.total_ns())));
  }

  void write_edge(uint32_t caller, uint32_t callee, uint64_t cost_ns) {
    const double cost = share(cost_ns);
    if (cost < kLeastEdge || !is_shown(caller) || !is_shown(callee)) return;
    file_.write(fmt::format("  f{} -> f{} [label=\"{:.1f} %\" penwidth={:.2f} {}]\n", caller,
                            callee, 100 * cost, 1 + 5 * cost, attribute("total", cost_ns)));
  }

  const profile::Session& session_;
  const CallGraph graph_;
  std::vector<Node> nodes_;                                  // by function
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> edges_;  // cost in ns, by caller and callee
  uint64_t all_ns_ = 0;
  uint64_t left_out_ = 0;  // functions
  OutputFile& file_;
};

}  // namespace

Outcome write_dot(const profile::View& view, const std::string& path, uint64_t) {
  OutputFile file(path);
  Outcome outcome = DotWriter(view, file).write();
  file.commit();
  return outcome;
}

}  // namespace sampan::exporters
