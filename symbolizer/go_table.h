// The table by which Go's runtime names its own functions: .gopclntab, which even a stripped Go
// program has. Layouts of Go 1.2, 1.16, 1.18 and 1.20 (which is that of later ones): Go's source,
// src/internal/abi/symtab.go, src/runtime/symtab.go and src/debug/gosym/pclntab.go.
//
// Of Go 1.18 and later inlined functions are known too. Every offset of the table is checked.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "symbolizer/elf_file.h"

namespace sampan::symbolizer {

class GoTable {
 public:
  // The table is read in place: `file` must outlive this object. None where the file has no such
  // table, or one of a layout that is not known.
  static std::optional<GoTable> of(const ElfFile& file);

  struct Function {
    uint64_t entry = 0;  // SVMA
    std::string_view name;
    uint32_t line = 0;    // where it begins; 0 unknown
    uint32_t unit = 0;    // its files begin there
    uint32_t pcfile = 0;  // tables of values by pc, see value_at()
    uint32_t pcline = 0;
    uint32_t inlined_index = 0;
    uint32_t inlined_tree = 0;  // SVMA - that of all functions' data; kNoTree: nothing is inlined
  };
  static constexpr uint32_t kNoTree = UINT32_MAX;

  std::optional<Function> function_at(uint64_t svma) const;
  struct Place {
    std::string_view file;
    uint32_t line = 0;
  };
  Place place(const Function& function, uint64_t svma) const;
  // What is inlined there, innermost; none where the code is the function's own.
  struct Inlined {
    std::string_view name;
    uint32_t line = 0;    // where it begins; 0 unknown
    uint64_t caller = 0;  // SVMA of code with the place of the call
  };
  std::optional<Inlined> inlined_at(const Function& function, uint64_t svma) const;

 private:
  using Bytes = std::span<const uint8_t>;
  enum class Layout { kGo12, kGo116, kGo118, kGo120 };

  GoTable(const ElfFile& file, const ElfFile::Section& table, Layout layout);
  bool read_header(const ElfFile& file);
  void find_function_data(const ElfFile& file, uint64_t table_svma);
  uint64_t row_begin(size_t row) const;
  std::optional<uint32_t> value_at(uint32_t values, uint64_t entry, uint64_t svma) const;

  Layout layout_;
  Bytes table_, rows_, names_, files_, units_, values_;
  Bytes function_data_;  // where trees of inlined functions are
  uint64_t text_ = 0;    // SVMA that rows of Go 1.18 count from
  size_t count_ = 0;     // functions
  unsigned quantum_ = 1;
};

}  // namespace sampan::symbolizer
