// .gopclntab, the table in which Go's runtime finds the names of its functions; even a stripped Go
// program has it. Layouts of Go 1.2, 1.16, 1.18 and 1.20 (still used by later versions): see Go's
// source, src/internal/abi/symtab.go, src/runtime/symtab.go and src/debug/gosym/pclntab.go.
//
// Inlined functions are known since Go 1.18. Every offset in the table is checked.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "symbolizer/elf_file.h"
#include "symbolizer/source_lines.h"

namespace sampan::symbolizer {

class GoTable {
 public:
  // Reads the table in place: `file` must outlive this object. None if the file has no such table,
  // or its layout is unknown.
  static std::optional<GoTable> of(const ElfFile& file);

  struct Function {
    uint64_t entry = 0;  // SVMA
    std::string_view name;
    uint32_t line = 0;    // of its begin; 0 unknown
    uint32_t unit = 0;    // where its files begin
    uint32_t pcfile = 0;  // tables of values by pc, see value_at()
    uint32_t pcline = 0;
    uint32_t inlined_index = 0;
    // SVMA relative to the data of all functions; kNoTree: nothing is inlined
    uint32_t inlined_tree = 0;
  };
  static constexpr uint32_t kNoTree = UINT32_MAX;

  std::optional<Function> function_at(uint64_t svma) const;
  struct Place {
    std::string_view file;
    uint32_t line = 0;
  };
  Place place(const Function& function, uint64_t svma) const;
  // The innermost function inlined at the address; none in the function's own code.
  struct Inlined {
    std::string_view name;
    uint32_t line = 0;    // of its begin; 0 unknown
    uint64_t caller = 0;  // SVMA whose place is that of the call
  };
  std::optional<Inlined> inlined_at(const Function& function, uint64_t svma) const;

 private:
  using Bytes = std::span<const uint8_t>;
  enum class Layout { kGo12, kGo116, kGo118, kGo120 };

  GoTable(const ElfFile& file, const ElfFile::Section& table, Layout layout);
  bool read_header(const ElfFile& file);
  void find_function_data(const ElfFile& file, const ElfFile::Section& table);
  uint64_t row_begin(size_t row) const;
  std::optional<uint32_t> value_at(uint32_t values, uint64_t entry, uint64_t svma) const;

  Layout layout_;
  Bytes table_, rows_, names_, files_, units_, values_;
  Bytes function_data_;  // the trees of inlined functions
  uint64_t text_ = 0;    // the base SVMA of rows since Go 1.18
  size_t count_ = 0;     // functions
  unsigned quantum_ = 1;
};

// Functions, files and lines of Go programs without debug information, from the Go runtime's table.
class GoLines {
 public:
  explicit GoLines(const GoTable& table) : table_(table) {}

  // Innermost inlined function first; empty if the code is not Go's. `names`: the same object in
  // all calls.
  SourceLines at(uint64_t svma, Names& names);

 private:
  const SourceFunction* function(std::string_view name, std::string_view file, uint32_t line,
                                 Names& names);

  const GoTable table_;
  std::unordered_map<std::string_view, const SourceFunction*> functions_;
};

}  // namespace sampan::symbolizer
