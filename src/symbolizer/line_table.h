// Files and lines of one unit, as its line number program gives them.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>

namespace sampan::symbolizer {

struct SourcePlace {
  const char* file = nullptr;       // libdw's: as long as its handle; null: unknown
  const char* directory = nullptr;  // of the compiler: what a relative file is relative to
  uint32_t line = 0;                // 0 unknown
};

class LineTable {
 public:
  // `unit` is the DIE that refers to the line table: of split DWARF, the skeleton's.
  explicit LineTable(const Dwarf_Die& unit);

  SourcePlace find(uint64_t svma);
  // Of a DW_TAG_inlined_subroutine: where it was called.
  SourcePlace call_site(Dwarf_Die& inlined);

 private:
  Dwarf_Die unit_;
  const char* directory_;
  Dwarf_Files* files_ = nullptr;
  size_t file_count_ = 0;
  bool files_read_ = false;
};

// Of a function's DIE: where it was declared, in whichever unit that is.
SourcePlace declaration(Dwarf_Die& function);

}  // namespace sampan::symbolizer
