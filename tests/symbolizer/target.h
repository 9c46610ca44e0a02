// A library whose addresses the tests know: each function reports where it called from.
#pragma once

#include <cstdint>

namespace target {

struct Call {
  uint64_t return_avma = 0;  // of a call in the innermost function
  int lines[3] = {};         // of that call, and of the calls of the functions around it
};

// The call is in Shape<double>::inner, inlined into (anonymous namespace)::middle, inlined here.
Call inlined_call();
// The call is in a lambda.
Call call_in_lambda();
// Much code of templates, for comparisons at random addresses.
int use_templates(int seed);

}  // namespace target

extern "C" {
// Two names of one function.
int __target_alias_impl(int value);
int target_alias(int value);
// Without debug information: hand-written assembly, with a size and without one, and one that is
// not exported.
void target_asm_sized();
void target_asm_without_size();
}
