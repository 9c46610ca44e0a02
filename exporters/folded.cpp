// Folded stacks: "thread;main;work 42" per line, root first, then samples. For flamegraph.pl,
// speedscope and the Firefox Profiler.
//
// A count is how many samples the stack's time has at the session's rate: not nanoseconds, because
// the Firefox Profiler makes one sample per count; and not the samples taken, because one may stand
// for many: a long wait has few samples, and so has a thread that others push off its CPU. The
// thread is the root frame. flamegraph.pl colours frames by the endings _[k], _[i]
// and _[j]; names of the program that end like this are not changed. In an imported profile that
// counts no time, a count is what it counts; in one of the heap, bytes; in one of waits for locks, microseconds.
#include <algorithm>
#include <string>

#include "base/units.h"
#include "exporters/escaped_text.h"
#include "exporters/formats.h"
#include "exporters/stack_nodes.h"
#include "exporters/thread_names.h"
#include "exporters/write_stacks.h"
#include "profile/unit.h"

namespace sampan::exporters {
namespace {

class FoldedWriter {
 public:
  FoldedWriter(const profile::Profile& profile, OutputFile& file) : profile_(profile), file_(file) {
    for (uint32_t i = 0; i < profile.functions.size(); ++i) {
      texts_.push_back(folded_text(profile::function_name(profile, i)));
    }
    unknown_ = folded_text(profile::function_name(profile, profile::kNone));
  }

  void write_thread(const std::string& label, const profile::CallTree& tree) {
    for (uint32_t node = 1; node < tree.size(); ++node) {
      if (tree[node].self.samples == 0) continue;
      path_.clear();
      for (uint32_t i = node; i != 0; i = tree[i].parent) path_.push_back(tree[i].function);
      line_ = label;
      for (auto function = path_.rbegin(); function != path_.rend(); ++function) {
        line_ += ';';
        line_ += *function == profile::kNone ? unknown_ : texts_[*function];
      }
      line_ += ' ';
      line_ += std::to_string(count(tree[node].self));
      line_ += '\n';
      file_.write(line_);
    }
  }

 private:
  uint64_t count(const profile::Weight& weight) const {
    if (!profile_.session.unit.empty()) return profile::whole_units(profile_.session, weight.ns);
    if (profile_.shown == profile::Shown::kLocks) {
      return std::max<uint64_t>(weight.ns / kNsPerUs, 1);
    }
    if (profile_.session.rate_hz == 0) return weight.samples;
    const uint64_t period_ns = kNsPerSecond / profile_.session.rate_hz;
    return std::max<uint64_t>((weight.ns + period_ns / 2) / period_ns, 1);
  }

  const profile::Profile& profile_;
  OutputFile& file_;
  std::vector<std::string> texts_;  // by function
  std::string unknown_;
  std::vector<uint32_t> path_;
  std::string line_;
};

}  // namespace

Outcome write_folded(const profile::View& view, const std::string& path, uint64_t max_size) {
  const std::vector<std::string> labels = thread_labels(view);
  return write_stacks(view, path, max_size, [&](const StackRows& rows, OutputFile& file) {
    FoldedWriter writer(*view.profile, file);
    for_each_thread_tree(view, rows, [&](size_t thread, const profile::CallTree& tree) {
      writer.write_thread(folded_text(labels[thread]), tree);
    });
  });
}

}  // namespace sampan::exporters
