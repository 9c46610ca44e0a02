// Answers for the addresses of compilation units: inline chain, names, files and lines.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

#include "dwarf/function_facts.h"
#include "dwarf/function_tree.h"
#include "dwarf/line_table.h"
#include "dwarf/scopes.h"
#include "dwarf/unit_index.h"
#include "symbolizer/debug_file.h"
#include "symbolizer/source_lines.h"

namespace sampan::symbolizer {

// For one thread; several may read one DebugFile.
class UnitResolver {
 public:
  UnitResolver(const DebugFile& debug, Names& names) : debug_(debug), names_(names) {}

  // Enters into `lines` what the unit knows: at the least a line without a function (hand-written
  // assembly has no DIE for one). False when the unit is damaged; what could be read is entered.
  bool resolve(const dwarf::UnitAddresses& wanted, LinesByAddress& lines);

 private:
  // Of one unit: its files, by their numbers.
  struct Files {
    explicit Files(const dwarf::Unit& unit) : table(unit) {}
    dwarf::LineTable table;
    std::unordered_map<uint64_t, const std::string*> by_number;
  };
  struct HashPlace {
    size_t operator()(const std::pair<const void*, uint64_t>& place) const {
      return (reinterpret_cast<uintptr_t>(place.first) ^ place.second) * 0x9e3779b97f4a7c15;
    }
  };

  Files& files_of(const dwarf::Unit& unit);
  const std::string* file(Files& files, uint64_t number);
  const SourceFunction* function(const dwarf::DiePlace& place, const dwarf::Unit& skeleton);
  std::string name(const dwarf::FunctionFacts& facts);
  std::string scope_of(const dwarf::DiePlace& declaration);

  const DebugFile& debug_;
  Names& names_;
  std::unordered_map<const dwarf::Unit*, Files> files_;
  std::unordered_map<const dwarf::Unit*, dwarf::Scopes> scopes_;
  std::unordered_map<std::pair<const void*, uint64_t>, const SourceFunction*, HashPlace> functions_;
};

}  // namespace sampan::symbolizer
