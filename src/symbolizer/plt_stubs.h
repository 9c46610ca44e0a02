// The stubs through which a module calls other modules' functions: "memcpy@plt". No symbol names
// them; each jumps through a slot of the GOT, and a relocation says whose slot that is.
//
// x86-64 (System V ABI, AMD64 supplement, 5.2): .plt, .plt.got and .plt.sec alike contain
// "jmp *offset(%rip)", ff 25, in every entry.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "symbolizer/elf_file.h"

namespace sampan::symbolizer {

class PltStubs {
 public:
  // The names are those of the ELF image: `file` must outlive this object.
  explicit PltStubs(const ElfFile& file);
  // The function that the stub at an address calls, mangled; null when there is no stub.
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
  std::vector<Section> sections_;
  std::vector<Elf_Scn*> relocations_;  // empty as soon as they have been read
  std::unordered_map<uint64_t, const char*> functions_by_slot_;
};

}  // namespace sampan::symbolizer
