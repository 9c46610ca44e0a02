// The functions of .symtab and .dynsym, for addresses that debug information does not know.
//
// A symbol without a size reaches to the next one, or to the end of its section. Of aliases the one
// that a programmer would write is kept: "write", not "__libc_write".
#pragma once

#include <cstdint>
#include <vector>

#include "symbolizer/elf_file.h"

namespace sampan::symbolizer {

class ElfSymbols {
 public:
  // The names are those of the ELF image: `file` must outlive this object.
  // True when the file had a .symtab, which holds all that there is.
  bool add(const ElfFile& file);
  // Call once, after the last add.
  void sort();
  struct Found {
    const char* name =
        nullptr;  // as it is in the table, mangled; null: no function holds the address
    uint64_t begin = 0, end = 0;
    bool has_size = false;  // else the function may have ended before
  };
  Found find(uint64_t svma) const;

 private:
  struct Symbol {
    uint64_t begin;
    uint64_t end;  // begin: no size given, until sort()
    uint64_t section_end;
    uint64_t max_end;  // of all symbols up to this one: how far back find() must look
    const char* name;
    bool local;
    bool has_size;
  };

  void add_table(Elf* elf, Elf_Scn* table, const std::vector<uint64_t>& code_ends);
  static bool before(const Symbol& a, const Symbol& b);

  std::vector<Symbol> symbols_;
};

}  // namespace sampan::symbolizer
