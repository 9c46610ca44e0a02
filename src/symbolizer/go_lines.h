// Functions, files and lines of Go programs without debug information, by the runtime's own table.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "symbolizer/go_table.h"
#include "symbolizer/source_lines.h"

namespace sampan::symbolizer {

class GoLines {
 public:
  explicit GoLines(const GoTable& table) : table_(table) {}

  // Innermost inlined function first; empty where the code is not Go's. `names`: always the same.
  SourceLines at(uint64_t svma, Names& names);

 private:
  const SourceFunction* function(std::string_view name, std::string_view file, uint32_t line,
                                 Names& names);

  const GoTable table_;
  std::unordered_map<std::string_view, const SourceFunction*> functions_;
};

}  // namespace sampan::symbolizer
