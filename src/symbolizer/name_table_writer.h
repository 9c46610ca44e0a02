// Makes a NameTable of what another one has and what was found out since.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "symbolizer/name_table.h"
#include "symbolizer/source_lines.h"

namespace sampan::symbolizer {

class NameTableWriter {
 public:
  explicit NameTableWriter(const NameTable& old);
  // These addresses, ascending, and none of those that the old table has. What is above 32 bits is
  // left out: code of files never is.
  void add(std::span<const uint64_t> svmas, const LinesByAddress& lines);
  // The bytes of a file.
  std::string bytes(const NameTableKey& key) const;
  size_t added() const { return svmas_.size() - old_.svmas().size(); }

 private:
  struct Hash {
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
    using is_transparent = void;
  };
  using Numbers = std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>>;

  uint32_t stack(const SourceLines& lines);
  uint32_t stack(std::span<const NameTable::Line> lines);
  uint32_t function(const SourceFunction* source);
  uint32_t function(const NameTable::Function& row);
  uint32_t text(std::string_view text);
  uint32_t text(const std::string* known) { return known != nullptr ? text(*known) : 0; }

  const NameTable& old_;
  std::vector<uint32_t> svmas_, stacks_, line_ends_, text_ends_;
  std::vector<NameTable::Line> lines_;
  std::vector<NameTable::Function> functions_;
  std::string chars_;
  Numbers text_numbers_;
  Numbers function_numbers_, stack_numbers_;  // by their bytes
  std::unordered_map<const SourceFunction*, uint32_t> known_functions_;
};

}  // namespace sampan::symbolizer
