// ELF files in memory, as JIT compilers make them for debuggers: a section of code and the symbols
// in it.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace sampan::test {

struct NamedCode {
  const char* name;
  const void* code;
  size_t size;
};

// The section is `size` bytes from `code` on. `type`: in ET_REL, symbols have offsets in it. The
// header comes first, then the four headers of sections: none, the code, the symbols, their names.
inline std::string elf_of_symbols(uint16_t type, const void* code, size_t size,
                                  const std::vector<NamedCode>& functions) {
  const auto start = reinterpret_cast<uint64_t>(code);
  std::string names(1, '\0');
  std::vector<Elf64_Sym> symbols(1);
  for (const NamedCode& function : functions) {
    Elf64_Sym symbol{};
    symbol.st_name = static_cast<Elf64_Word>(names.size());
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbol.st_shndx = 1;
    symbol.st_value = reinterpret_cast<uint64_t>(function.code) - (type == ET_REL ? start : 0);
    symbol.st_size = function.size;
    symbols.push_back(symbol);
    names += function.name;
    names.push_back('\0');
  }
  Elf64_Ehdr file{};
  std::memcpy(file.e_ident, ELFMAG, SELFMAG);
  file.e_ident[EI_CLASS] = ELFCLASS64;
  file.e_ident[EI_DATA] = ELFDATA2LSB;
  file.e_ident[EI_VERSION] = EV_CURRENT;
  file.e_type = type;
  file.e_machine = EM_X86_64;
  file.e_version = EV_CURRENT;
  file.e_ehsize = sizeof file;
  file.e_shoff = sizeof file;
  file.e_shentsize = sizeof(Elf64_Shdr);
  file.e_shnum = 4;
  Elf64_Shdr sections[4] = {};
  const uint64_t content = sizeof file + sizeof sections;
  const uint64_t symbols_size = symbols.size() * sizeof(Elf64_Sym);
  sections[1] = {0, SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, start, content, size, 0, 0, 16, 0};
  sections[2] = {0, SHT_SYMTAB, 0, 0, content, symbols_size, 3, 1, 8, sizeof(Elf64_Sym)};
  sections[3] = {0, SHT_STRTAB, 0, 0, content + symbols_size, names.size(), 0, 0, 1, 0};
  std::string all(reinterpret_cast<const char*>(&file), sizeof file);
  all.append(reinterpret_cast<const char*>(sections), sizeof sections);
  all.append(reinterpret_cast<const char*>(symbols.data()), symbols_size);
  return all + names;
}

}  // namespace sampan::test
