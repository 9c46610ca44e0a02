// Python pstats: the dump of cProfile, for `python3 -m pstats`, SnakeViz, gprof2dot and
// pyprof2calltree. Format: cpython Lib/profile.py (create_stats, snapshot_stats), a marshalled
//
//   {(file, line, name): (cc, nc, tt, ct, {caller: (nc, cc, tt, ct)})}
//
//   tt  seconds of CPU in the function itself
//   ct  the same, with everything that it called; a sample counts once, however often it recurs
//   cc  samples with the function in their stack, each once ("primitive calls")
//   nc  the same, counting each recursion
//
// A caller's entry counts only stacks in which that caller called it. If the file is not known, the
// module replaces it. Beside Python's functions, those of C are ('~', 0, '<built-in deflate of
// libz.so.1>'): cProfile has them so, and pstats shows them as {built-in deflate of libz.so.1}.
//
// The format has no place for comments. A function without times says that calls are samples: pstats
// lists it last, SnakeViz leaves it out.
//
// Each thread is a function, ('~', 0, '<name>'), as cProfile writes functions without a file. It is
// the caller of its outermost frames, because SnakeViz drops isolated functions. Several threads
// have a common caller, '<all threads>', because viewers take the largest ct for the total.
#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <vector>

#include "base/interner.h"
#include "base/time.h"
#include "base/utf8.h"
#include "exporters/formats.h"
#include "exporters/marshal_writer.h"
#include "exporters/stack_nodes.h"
#include "exporters/thread_names.h"
#include "exporters/write_stacks.h"
#include "profile/frames.h"
#include "profile/function_kinds.h"

namespace sampan::exporters {
namespace {

using profile::CallTree;
using profile::FunctionKind;
using profile::kNone;
using profile::Weight;

struct Times {
  uint64_t primitive_calls = 0, calls = 0, self_ns = 0, total_ns = 0;
  uint32_t on_path = 0;  // how often the walk is inside it

  // A node of a call tree is entered: the same function below it is a recursion.
  void enter(const Weight& self, const Weight& total) {
    calls += total.samples;
    self_ns += self.ns;
    if (on_path++ != 0) return;
    primitive_calls += total.samples;
    total_ns += total.ns;
  }
  void leave() { --on_path; }
};

class PstatsTable {
 public:
  explicit PstatsTable(const profile::Profile& profile)
      : profile_(profile), kinds_(profile::function_kinds(profile)) {
    keys_of_functions_.assign(profile.functions.size(), kNone);
    has_python_ = std::ranges::find(kinds_, FunctionKind::kPython) != kinds_.end();
    key("~", 0, "<calls are counts of samples>");
  }

  // Sets the caller of the threads that are added afterwards.
  void add_common_root(const Weight& total) {
    common_root_ = key("~", 0, "<all threads>");
    entries_[common_root_].enter({}, total);
  }

  void add_thread(const std::string& label, const CallTree& tree) {
    const uint32_t root = key("~", 0, "<" + label + ">");
    struct Step {
      uint32_t node, key, edge;
      bool entered;
    };
    const uint32_t from_common = common_root_ == kNone ? kNone : edge(common_root_, root);
    std::vector<Step> steps{{0, root, from_common, false}};
    while (!steps.empty()) {
      const Step step = steps.back();
      if (step.entered) {
        entries_[step.key].leave();
        if (step.edge != kNone) edges_[step.edge].times.leave();
        steps.pop_back();
        continue;
      }
      steps.back().entered = true;
      const profile::CallNode& node = tree[step.node];
      entries_[step.key].enter(node.self, node.total);
      if (step.edge != kNone) edges_[step.edge].times.enter(node.self, node.total);
      for (const uint32_t child : tree.children(step.node)) {
        const uint32_t callee = key_of_function(tree[child].function);
        steps.push_back({child, callee, edge(step.key, callee), false});
      }
    }
  }

  void write(OutputFile& file) {
    std::vector<std::vector<uint32_t>> callers(entries_.size());  // edges by callee
    for (uint32_t i = 0; i < edges_.size(); ++i) callers[edges_[i].callee].push_back(i);
    remembered_.assign(entries_.size(), kNone);
    marshal_.dict();
    for (uint32_t i = 0; i < entries_.size(); ++i) {
      write_key(i);
      marshal_.tuple(5);
      const Times& times = entries_[i];
      write_numbers(times.primitive_calls, times.calls, times);
      marshal_.dict();
      for (const uint32_t edge : callers[i]) {
        write_key(edges_[edge].caller);
        marshal_.tuple(4);
        const Times& part = edges_[edge].times;
        write_numbers(part.calls, part.primitive_calls, part);
      }
      marshal_.end_dict();
      file.write(marshal_.bytes());
      marshal_.clear();
    }
    marshal_.end_dict();
    file.write(marshal_.bytes());
  }

 private:
  using Key = std::tuple<std::string, uint32_t, std::string>;
  struct Edge {
    uint32_t caller, callee;
    Times times;
  };

  // Different functions may have the same key, such as a static function of a header in two
  // modules.
  uint32_t key(std::string_view file, uint32_t line, std::string_view name) {
    const auto [index, is_new] = keys_.intern(Key(valid_utf8(file), line, valid_utf8(name)));
    if (is_new) entries_.emplace_back();
    return index;
  }
  uint32_t key_of_function(uint32_t function) {
    const std::string_view name = profile::function_name(profile_, function);
    if (function == kNone) return key("~", 0, name);
    uint32_t& known = keys_of_functions_[function];
    if (known != kNone) return known;
    const profile::Function& row = profile_.functions[function];
    if (has_python_ && kinds_[function] == FunctionKind::kNative) {
      return known = key("~", 0, built_in(name, profile::module_name(profile_, row.module)));
    }
    std::string_view file = profile_.strings[row.file];
    if (file.empty() && row.module != kNone) file = profile_.modules[row.module].path;
    return known = key(file.empty() ? "~" : file, row.line, name);
  }
  // A name in brackets says its module itself: "[libz.so.1+0x5d80]".
  static std::string built_in(std::string_view name, std::string_view module) {
    std::string text = "<built-in ";
    text += name;
    if (!module.empty() && !name.starts_with('[')) text.append(" of ").append(module);
    return text + ">";
  }
  uint32_t edge(uint32_t caller, uint32_t callee) {
    const auto [index, is_new] = edge_indexes_.intern(uint64_t{caller} << 32 | callee);
    if (is_new) edges_.push_back({caller, callee, {}});
    return index;
  }

  void write_key(uint32_t index) {
    if (remembered_[index] != kNone) return marshal_.recall(remembered_[index]);
    remembered_[index] = next_remembered_++;
    const auto& [file, line, name] = keys_[index];
    marshal_.remember_tuple(3);
    marshal_.string(file);
    marshal_.integer(line);
    marshal_.string(name);
  }
  void write_numbers(uint64_t first_count, uint64_t second_count, const Times& times) {
    marshal_.integer(first_count);
    marshal_.integer(second_count);
    marshal_.real(in_seconds(times.self_ns));
    marshal_.real(in_seconds(times.total_ns));
  }

  const profile::Profile& profile_;
  std::vector<FunctionKind> kinds_;  // by function
  bool has_python_ = false;
  uint32_t common_root_ = kNone;
  Interner<Key> keys_;
  std::vector<Times> entries_;  // by key
  std::vector<uint32_t> keys_of_functions_;
  Interner<uint64_t> edge_indexes_;  // caller and callee
  std::vector<Edge> edges_;
  MarshalWriter marshal_;
  std::vector<uint32_t> remembered_;  // number of the key in the marshalled file
  uint32_t next_remembered_ = 0;
};

}  // namespace

Outcome write_pstats(const profile::View& view, const std::string& path, uint64_t max_size) {
  const std::vector<std::string> labels = thread_labels(view);
  return write_stacks(view, path, max_size, [&](const StackRows& rows, OutputFile& file) {
    PstatsTable table(*view.profile);
    const Weight total = profile::total_weight(view);
    if (view.threads.size() > 1 && total.samples != 0) table.add_common_root(total);
    for_each_thread_tree(view, rows, [&](size_t thread, const CallTree& tree) {
      table.add_thread(labels[thread], tree);
    });
    table.write(file);
  });
}

}  // namespace sampan::exporters
