// A library that reports its own addresses: each function says where it called from.
#pragma once

#include <cstdint>

namespace target {

struct Call {
  uint64_t return_avma = 0;  // of the call in the innermost function
  int lines[3] = {};         // of that call, and of the calls in the functions around it
};

// The call is in Shape<double>::inner, inlined into (anonymous namespace)::middle, inlined here.
Call inlined_call();
// The call is in a lambda.
Call call_in_lambda();
// Much template code, for comparisons at random addresses.
int use_templates(int seed);

}  // namespace target

extern "C" {
// Two names of one function.
int __target_alias_impl(int value);  // NOLINT(readability-identifier-naming)
int target_alias(int value);
// Without debug information: hand-written assembly, with and without a size, and a function that is
// not exported.
void target_asm_sized();
void target_asm_without_size();
}
