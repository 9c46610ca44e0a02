// The functions of an ELF file without debug information: symbols, PLT stubs, the unwind table. Symbols
// of variables, too.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "symbolizer/elf_file.h"
#include "unwind/image.h"

namespace sampan::symbolizer {

// The functions of .symtab and .dynsym, for addresses that debug information does not know; or the
// variables, without those of threads.
//
// A symbol without a size reaches to the next symbol, or to the end of its section. Among aliases a
// function is kept rather than a label, and then the one that a programmer would write: "write", not
// "__libc_write".
class ElfSymbols {
 public:
  enum class Of { kCode, kData };
  explicit ElfSymbols(Of of = Of::kCode) : of_(of) {}

  // The names point into the ELF image: `file` must outlive this object. Returns whether the file
  // has a .symtab, which contains all symbols.
  bool add(const ElfFile& file);
  // Call once, after the last add.
  void sort();
  struct Found {
    const char* name = nullptr;  // as in the table, mangled; null: no function contains the address
    uint64_t begin = 0, end = 0;
    bool has_size = false;  // else the function may end before the address
  };
  Found find(uint64_t svma) const;

 private:
  struct Symbol {
    uint64_t begin;
    uint64_t end;  // begin: no size given, until sort()
    uint64_t section_end;
    uint64_t max_end;  // of all symbols up to this one: how far back find() must look
    const char* name;
    bool is_function;  // else a label, as of hand-written assembly
    bool local;
    bool has_size;
  };

  std::vector<uint64_t> ends_of_sections(Elf* elf) const;
  void add_table(Elf* elf, Elf_Scn* table, const std::vector<uint64_t>& section_ends);
  static bool before(const Symbol& a, const Symbol& b);

  Of of_;
  std::vector<Symbol> symbols_;
};

// The stubs through which a module calls functions of other modules: "memcpy@plt". They have no
// symbols; each jumps through a slot of the GOT, and a relocation names the slot's function.
//
// x86-64 (System V ABI, AMD64 supplement, 5.2): every entry of .plt, .plt.got and .plt.sec contains
// "jmp *offset(%rip)", ff 25. AArch64: "adrp x16, page; ldr x17, [x16, #offset]".
class PltStubs {
 public:
  // The names point into the ELF image: `file` must outlive this object.
  explicit PltStubs(const ElfFile& file);
  // The function that the stub at an address calls, mangled; null if there is no stub.
  const char* find(uint64_t svma);

 private:
  struct Section {
    uint64_t begin;
    std::span<const uint8_t> bytes;
    uint64_t entry_size;
  };

  const char* function_of_slot(uint64_t slot);
  void add_relocations(Elf_Scn* section);

  Elf* elf_;
  const bool is_aarch64_;
  std::vector<Section> sections_;
  std::vector<Elf_Scn*> relocations_;  // emptied once they have been read
  std::unordered_map<uint64_t, const char*> functions_by_slot_;
};

// The begin of the function around an address, from the unwind table, which stripped files have,
// too.
//
// It tells which addresses belong to one function even without a name: "[xz+0x5230]" is the
// function that begins there, and all its samples are in one row.
class FunctionStarts {
 public:
  // Reads the table in place: `file` must outlive this object.
  explicit FunctionStarts(const ElfFile& file);
  struct Range {
    uint64_t begin, end;
  };
  // The code of the function around the address. None if no FDE covers it.
  std::optional<Range> range(uint64_t svma) const;
  // The code of the last function that begins at or before the address, which it may not cover.
  std::optional<Range> last_range(uint64_t svma) const;

 private:
  unwind::Module module_{};  // in SVMAs: as if loaded without a bias
};

}  // namespace sampan::symbolizer
