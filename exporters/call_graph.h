// Functions, the lines that cost something, and the calls between functions: what callgrind's
// format is made of.
//
// - Functions are those of one name, file and module. Inlined ones are functions of their own,
//   called from where they are inlined.
// - Each thread is a function, "<name>", that calls the outermost functions of its stacks.
// - A call's cost is that of the samples in which it was the first on the stack to enter its
//   callee: however often a function recurs, the costs of the calls to it add up to its total. What
//   a call into a function that is being executed already costs is 0, its count is not.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "profile/call_tree.h"
#include "profile/weights.h"

namespace sampan::exporters {

class CallGraph {
 public:
  struct Function {
    std::string name;    // valid UTF-8 on one line, as are the others
    std::string file;    // of its definition; "" unknown
    std::string module;  // its path; "" unknown
    uint32_t line = 0;   // of its definition; 0 unknown
  };
  // A line that a function was executing.
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

  // Of rows of by_thread_and_stack().
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

  struct SiteKey {
    uint64_t function_and_file;
    uint32_t line;
    friend bool operator==(const SiteKey&, const SiteKey&) = default;
  };
  struct SiteHash {
    size_t operator()(const SiteKey& key) const {
      return std::hash<uint64_t>()(key.function_and_file * 0x9e3779b97f4a7c15 + key.line);
    }
  };

  const profile::Profile& profile_;
  std::vector<Function> functions_;
  std::vector<Site> sites_;
  std::vector<Call> calls_;
  std::unordered_map<std::string, uint32_t> functions_by_text_;
  std::vector<uint32_t> known_functions_;  // by function of the profile; the last is kNone's
  std::unordered_map<SiteKey, uint32_t, SiteHash> sites_by_key_;
  std::unordered_map<uint64_t, uint32_t> calls_by_ends_;  // site and callee
};

}  // namespace sampan::exporters
