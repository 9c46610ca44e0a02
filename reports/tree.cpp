#include "reports/tree_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <vector>

#include "reports/function_cell.h"
#include "reports/text.h"

namespace sampan::reports {
namespace {

// Branches of less than this share of everything are left out, unless all rows were asked for.
constexpr double kShownShare = 0.005;
constexpr size_t kNarrowestName = 24;

class TreeText {
 public:
  TreeText(const Context& context, const profile::CallTree& tree, const TreeTextOptions& options)
      : context_(context),
        tree_(tree),
        options_(options),
        all_ns_(static_cast<double>(tree[0].total.ns)),
        shown_ns_(context.options.top == 0 ? 0 : kShownShare * all_ns_) {}

  std::string text() {
    text_ = context_.style.faint(fmt::format("  {:>7}  {:>5}  {}{}", "total", "%",
                                             options_.self ? "self %  " : "", "function")) +
            "\n";
    push_children(0, "");
    // Not by recursion: stacks may be thousands of frames deep.
    while (!pending_.empty()) {
      const Branch branch = std::move(pending_.back());
      pending_.pop_back();
      add_branch(branch);
    }
    if (options_.self && tree_[0].self.samples != 0) {
      add_line(tree_[0].self.ns, tree_[0].self.ns, "", "[unknown]");
    }
    if (hidden_ != 0) {
      text_ += context_.style.faint(fmt::format(
                   "  {} of less than {:.1f} % not shown",
                   hidden_ == 1 ? "1 branch" : count(hidden_) + " branches", 100 * kShownShare)) +
               "\n";
    }
    return std::move(text_);
  }

 private:
  struct Branch {
    uint32_t node;
    std::string first;  // in front of its first line: "│ ├ "
    std::string rest;   // in front of those that follow it: "│ │ "
  };

  std::span<const uint32_t> shown_children(uint32_t node) const {
    std::span<const uint32_t> children = tree_.children(node);
    while (!children.empty() && static_cast<double>(tree_[children.back()].total.ns) < shown_ns_) {
      children = children.first(children.size() - 1);
    }
    return children;
  }

  void push_children(uint32_t node, const std::string& prefix) {
    const std::span<const uint32_t> children = shown_children(node);
    hidden_ += tree_.children(node).size() - children.size();
    const bool forks = children.size() > 1 && node != 0;
    for (size_t i = children.size(); i-- > 0;) {  // the last in is the first out
      const bool last = i + 1 == children.size();
      pending_.push_back({children[i],
                          prefix + (!forks ? ""
                                    : last ? "└ "
                                           : "├ "),
                          prefix + (!forks ? ""
                                    : last ? "  "
                                           : "│ ")});
    }
  }

  void add_branch(const Branch& branch) {
    uint32_t node = branch.node;
    uint64_t self_ns = tree_[node].self.ns;
    size_t times = 1;
    for (;; ++times) {
      const std::span<const uint32_t> children = tree_.children(node);
      if (children.size() != 1 || tree_[children[0]].function != tree_[node].function) break;
      node = children[0];
      self_ns += tree_[node].self.ns;
    }
    const std::string name =
        function_cell(context_.profile(), tree_[node].function, context_.options);
    const std::string suffix = times > 1 ? fmt::format(" ×{}", times) : "";
    const size_t left = (options_.self ? 26 : 18) + columns(branch.first) + columns(suffix);
    const size_t width = std::max<size_t>(context_.options.width, left + kNarrowestName) - left;
    add_line(tree_[branch.node].total.ns, self_ns, branch.first,
             fitted_name(name, width, context_.options) + suffix);
    push_children(node, branch.rest);
  }

  void add_line(uint64_t total_ns, uint64_t self_ns, const std::string& prefix,
                const std::string& name) {
    const auto share = [&](uint64_t ns) { return percent(static_cast<double>(ns), all_ns_); };
    const bool strong = static_cast<double>(self_ns) >= kStrongShare * all_ns_;
    text_ += fmt::format("  {:>7}  {:>5}  ", seconds(total_ns), share(total_ns));
    if (options_.self) text_ += fmt::format("{:>6}  ", share(self_ns));
    text_ += prefix + (strong ? context_.style.strong(name) : name) + "\n";
  }

  const Context& context_;
  const profile::CallTree& tree_;
  const TreeTextOptions& options_;
  const double all_ns_;
  const double shown_ns_;
  std::vector<Branch> pending_;
  size_t hidden_ = 0;
  std::string text_;
};

}  // namespace

std::string tree_text(const Context& context, const profile::CallTree& tree,
                      const TreeTextOptions& options) {
  return TreeText(context, tree, options).text();
}

}  // namespace sampan::reports
