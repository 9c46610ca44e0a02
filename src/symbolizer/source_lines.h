// What debug information and symbol tables say about one address, before it enters the profile.
//
// Names owns the strings and functions of one job, so that jobs run in parallel without a lock;
// the pointers in a SourceLine are into the Names of the job that found it.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "symbolizer/line_table.h"

namespace sampan::symbolizer {

struct SourceFunction {
  std::string name;                   // demangled
  const std::string* file = nullptr;  // of its definition
  uint32_t line = 0;                  // 0 unknown
  bool is_place = false;              // no source knows the name: it is "[module+0x1234]"
};

struct SourceLine {
  const SourceFunction* function = nullptr;  // null: this source does not know
  const std::string* file = nullptr;         // null: unknown
  uint32_t line = 0;                         // 0 unknown
};

// Of one address, innermost inlined function first. Empty: nothing known.
using SourceLines = std::vector<SourceLine>;

class Names {
 public:
  const SourceFunction* add(SourceFunction function);
  // The full path of a file; null when it is unknown. `place` must be of a handle that outlives
  // this object. "./csu/../elf/rtld.c" becomes "./elf/rtld.c", so that a header has one name
  // however it was included.
  const std::string* file(const SourcePlace& place);
  // See demangle.h; remembered, because one inlined function is in many units.
  const std::string& demangled(const char* mangled);

 private:
  std::deque<SourceFunction> functions_;
  std::unordered_map<const char*, const std::string*> files_by_address_;  // of libdw's text
  std::unordered_map<std::string, std::string> demangled_;
  std::deque<std::string> files_;
};

}  // namespace sampan::symbolizer
