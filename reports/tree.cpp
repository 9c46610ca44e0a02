// The call tree, and the callers and callees of a function, as lines of text, heaviest branch first.
//
// The lines of a branch without forks stay in one column, so that deep stacks are not indented more
// and more; `×3` is direct recursion. Below a fork:
//
//    5.00  100.0  main
//    3.00   60.0  ├ compress
//    3.00   60.0  │ deflate
//    2.00   40.0  └ checksum
#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/nearest.h"
#include "base/text/readable.h"
#include "profile/call_tree.h"
#include "profile/frames.h"
#include "reports/sections.h"
#include "reports/table.h"

namespace sampan::reports {
namespace {

// Branches with less than this share of the total are left out, unless all rows were asked for.
constexpr double kShownShare = 0.005;
constexpr size_t kNarrowestName = 24;

class TreeText {
 public:
  TreeText(const Context& context, const profile::CallTree& tree, bool with_self)
      : context_(context),
        tree_(tree),
        with_self_(with_self),
        unit_(context.unit()),
        all_ns_(static_cast<double>(tree[0].total.ns)),
        shown_ns_(context.options.top == 0 ? 0 : kShownShare * all_ns_) {}

  std::string text() {
    text_ = context_.style.faint(fmt::format("  {:>7}  {:>5}  {}{}", "total", "%",
                                             with_self_ ? "self %  " : "", "function")) +
            "\n";
    push_children(0, "");
    // Without recursion, because stacks may be thousands of frames deep.
    while (!pending_.empty()) {
      const Branch branch = std::move(pending_.back());
      pending_.pop_back();
      add_branch(branch);
    }
    if (with_self_ && tree_[0].self.samples != 0) {
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
    const size_t left = (with_self_ ? 26 : 18) + columns(branch.first) + columns(suffix);
    const size_t width = std::max<size_t>(context_.options.width, left + kNarrowestName) - left;
    add_line(tree_[branch.node].total.ns, self_ns, branch.first,
             fitted_name(name, width, context_.options) + suffix);
    push_children(node, branch.rest);
  }

  void add_line(uint64_t total_ns, uint64_t self_ns, const std::string& prefix,
                const std::string& name) {
    const auto share = [&](uint64_t ns) { return percent(static_cast<double>(ns), all_ns_); };
    const bool strong = static_cast<double>(self_ns) >= kStrongShare * all_ns_;
    text_ += fmt::format("  {:>7}  {:>5}  ", unit_.text(total_ns), share(total_ns));
    if (with_self_) text_ += fmt::format("{:>6}  ", share(self_ns));
    text_ += prefix + (strong ? context_.style.strong(name) : name) + "\n";
  }

  const Context& context_;
  const profile::CallTree& tree_;
  const bool with_self_;  // a column with the self share
  const profile::Unit unit_;
  const double all_ns_;
  const double shown_ns_;
  std::vector<Branch> pending_;
  size_t hidden_ = 0;
  std::string text_;
};

// The functions whose names contain `wanted`. Throws Error when there is none.
std::function<bool(uint32_t)> functions_named(const profile::Profile& profile,
                                              const std::string& wanted) {
  std::vector<bool> matches(profile.functions.size());
  std::vector<std::string_view> names;
  bool found = false;
  for (uint32_t i = 0; i < matches.size(); ++i) {
    names.push_back(function_name(profile, i));
    matches[i] = names.back().find(wanted) != std::string_view::npos;
    found |= matches[i];
  }
  if (!found) {
    throw Error("no function has '{}' in its name{}", wanted, did_you_mean(wanted, names));
  }
  return [matches = std::move(matches)](uint32_t function) {
    return function != profile::kNone && matches[function];
  };
}

std::string tree_of(const Context& context, std::string_view what, const std::string& wanted,
                    const profile::CallTree& tree, bool with_self) {
  const profile::Unit unit = context.unit();
  return context.style.heading(fmt::format("{} of '{}': {} of {}", what, printable(wanted),
                                           unit.amount(tree[0].total.ns),
                                           unit.amount(context.summary.total().ns))) +
         "\n" + TreeText(context, tree, with_self).text();
}

}  // namespace

std::string tree_section(const Context& context) {
  if (context.summary.total().samples == 0) return "";
  return context.style.heading(fmt::format("Call tree ({})", context.unit().plural())) + "\n" +
         TreeText(context, call_tree(context.view), true).text();
}

std::string callers_section(const Context& context) {
  const std::string& wanted = context.options.callers;
  const auto matches = functions_named(context.profile(), wanted);
  return tree_of(context, "Callers", wanted, callers_tree(context.view, matches), false);
}

std::string callees_section(const Context& context) {
  const std::string& wanted = context.options.callees;
  const auto matches = functions_named(context.profile(), wanted);
  const profile::CallTree tree = callees_tree(context.profile(), by_stack(context.view), matches);
  return tree_of(context, "Callees", wanted, tree, true);
}

}  // namespace sampan::reports
