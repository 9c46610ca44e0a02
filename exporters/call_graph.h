// The content of callgrind's format: functions, lines with costs, and calls between functions.
//
// - A function is identified by its name, file and module. Inlined functions are called from where
//   they are inlined.
// - Each thread is a function, "<name>", that calls the outermost functions of its stacks.
// - A call's cost is that of the samples in which it is the first call on the stack into its
//   callee. So the costs of the calls to a recursive function sum to its total. A call into a
//   function that is already on the stack has a count but no cost.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/interner.h"
#include "profile/call_tree.h"
#include "profile/weights.h"

namespace sampan::exporters {

class CallGraph {
 public:
  struct Function {
    std::string name;    // valid UTF-8 on one line, like the others
    std::string file;    // of its definition; "" unknown
    std::string module;  // its path; of Python's functions the module's name; "" unknown
    uint32_t line = 0;   // of its definition; 0 unknown
  };
  // A line of code in a function.
  struct Site {
    uint32_t function = 0;
    uint32_t file = 0;  // string of the profile; may differ from the function's
    uint32_t line = 0;
    profile::Weight self = {};
  };
  struct Call {
    uint32_t site = 0;    // of the caller
    uint32_t callee = 0;  // function
    uint64_t count = 0;   // samples in which the call was on the stack; recursive ones each
    profile::Weight cost = {};
  };

  // `rows`: of by_thread_and_stack().
  CallGraph(const profile::View& view, const std::vector<profile::WeightedStack>& rows);

  const std::vector<Function>& functions() const { return functions_; }
  const std::vector<Site>& sites() const { return sites_; }
  const std::vector<Call>& calls() const { return calls_; }

 private:
  void add_thread(uint32_t function, const profile::CallTree& tree);
  uint32_t add(Function function);
  uint32_t function_of(const profile::CallNode& node);
  uint32_t site_of(uint32_t function, uint32_t file, uint32_t line);
  Call& call(uint32_t site, uint32_t callee);

  const profile::Profile& profile_;
  std::vector<std::string> python_modules_;  // by function of the profile
  std::vector<Function> functions_;
  std::vector<Site> sites_;
  std::vector<Call> calls_;
  Interner<std::string> function_texts_;
  std::vector<uint32_t> known_functions_;  // by function of the profile; the last is kNone's
  Interner<std::pair<uint64_t, uint32_t>> site_keys_;  // function and file, line
  Interner<uint64_t> call_ends_;                       // site and callee
};

}  // namespace sampan::exporters
