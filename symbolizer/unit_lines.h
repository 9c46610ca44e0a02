// Answers for addresses of compilation units: inline chains, names, files and lines.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/interner.h"
#include "symbolizer/debug_file.h"
#include "symbolizer/dwarf/file.h"
#include "symbolizer/dwarf/function_facts.h"
#include "symbolizer/dwarf/function_tree.h"
#include "symbolizer/dwarf/line_table.h"
#include "symbolizer/source_lines.h"

namespace sampan::symbolizer {

// For one thread; several resolvers may read one DebugFile.
class UnitResolver {
 public:
  UnitResolver(const DebugFile& debug, Names& names) : debug_(debug), names_(names) {}

  // Enters what the unit knows into `lines`: at least a line without a function (hand-written
  // assembly has no DIE for functions). Returns false if the unit is damaged; what could be read is
  // entered.
  bool resolve(const dwarf::UnitAddresses& wanted, LinesByAddress& lines);

 private:
  // The files of one unit, by number.
  struct Files {
    explicit Files(const dwarf::Unit& unit) : table(unit) {}
    dwarf::LineTable table;
    std::unordered_map<uint64_t, const std::string*> by_number;
  };
  struct HashPlace {
    size_t operator()(const std::pair<const void*, uint64_t>& place) const {
      return hash_of(std::pair(reinterpret_cast<uintptr_t>(place.first), place.second));
    }
  };

  Files& files_of(const dwarf::Unit& unit);
  const std::string* file(Files& files, uint64_t number);
  const SourceFunction* function(const dwarf::DiePlace& place, const dwarf::Unit& skeleton);
  std::string name(const dwarf::FunctionFacts& facts);
  // `depth`: the number of functions around which the search has come to this one.
  std::string scope_of(const dwarf::DiePlace& declaration, int depth = 0);
  // The name of a function with its scope, if the DIE itself does not tell: it has a linkage name, or
  // is declared elsewhere. Else "".
  std::string full_name(const dwarf::DiePlace& function, int depth);
  const dwarf::Scopes* scopes_of(const dwarf::Unit& unit);  // null: its language has none

  const DebugFile& debug_;
  Names& names_;
  std::unordered_map<const dwarf::Unit*, Files> files_;
  std::unordered_map<const dwarf::Unit*, dwarf::Scopes> scopes_;
  std::unordered_map<std::pair<const void*, uint64_t>, const SourceFunction*, HashPlace> functions_;
  std::unordered_map<std::pair<const void*, uint64_t>, std::string, HashPlace> full_names_;
};

}  // namespace sampan::symbolizer
