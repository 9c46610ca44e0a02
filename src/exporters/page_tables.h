// The functions and stacks of a profile as profile.html has them: those that samples have, with
// handles in the order of their first use. Frames of one function and line, called from the same
// stack, are one row.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "exporters/page_columns.h"
#include "exporters/stack_nodes.h"
#include "profile/profile.h"

namespace sampan::exporters {

class PageTables {
 public:
  explicit PageTables(const profile::Profile& profile);

  // The row of a stack, new or old; -1 for none.
  int64_t row(uint32_t stack) {
    return stack == profile::kNone ? -1 : int64_t{nodes_.node(stack)} - 1;
  }

  // All rows so far, as columns "stacks.…" and "functions.…". Once, after the last row().
  std::vector<PageColumn> columns();

  // After columns(): what their handles stand for.
  const std::vector<std::string_view>& strings() const { return strings_; }
  const std::vector<uint32_t>& modules() const { return modules_; }  // of the profile

 private:
  struct Function {
    uint32_t function;
    bool wait;
  };

  uint32_t function(const profile::CallNode& node);
  std::vector<PageColumn> stack_columns();
  std::vector<PageColumn> function_columns();
  uint32_t string(uint32_t of_profile);
  int64_t module(uint32_t of_profile);

  const profile::Profile& profile_;
  StackNodes nodes_;
  std::vector<Function> functions_;
  std::vector<std::string_view> strings_ = {""};
  std::vector<uint32_t> modules_;
  // From handles of the profile to those of the page; kNone: not in use. Functions have one more,
  // for frames without function.
  std::vector<uint32_t> function_handles_, string_handles_, module_handles_;
};

}  // namespace sampan::exporters
