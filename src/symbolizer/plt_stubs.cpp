#include "symbolizer/plt_stubs.h"

#include <gelf.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace sampan::symbolizer {

PltStubs::PltStubs(const ElfFile& file) : elf_(file.handle()) {
  size_t names = 0;
  if (elf_getshdrstrndx(elf_, &names) != 0) return;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    if (header.sh_type == SHT_RELA) relocations_.push_back(section);
    const char* name = elf_strptr(elf_, names, header.sh_name);
    if (header.sh_type != SHT_PROGBITS || name == nullptr ||
        !std::string_view(name).starts_with(".plt")) {
      continue;
    }
    const Elf_Data* data = elf_getdata(section, nullptr);
    if (data == nullptr || data->d_buf == nullptr) continue;
    const uint64_t entry_size = header.sh_entsize == 8 ? 8 : 16;
    sections_.push_back(
        {header.sh_addr, {static_cast<const uint8_t*>(data->d_buf), data->d_size}, entry_size});
  }
}

void PltStubs::add_relocations(Elf_Scn* section) {
  GElf_Shdr header, symbols_header;
  Elf_Data* data = elf_getdata(section, nullptr);
  if (gelf_getshdr(section, &header) == nullptr || data == nullptr || header.sh_entsize == 0)
    return;
  Elf_Scn* symbol_section = elf_getscn(elf_, header.sh_link);
  Elf_Data* symbols = elf_getdata(symbol_section, nullptr);
  if (symbols == nullptr || gelf_getshdr(symbol_section, &symbols_header) == nullptr) return;

  const size_t count = std::min<size_t>(data->d_size / header.sh_entsize, INT32_MAX);
  for (size_t i = 0; i < count; ++i) {
    GElf_Rela relocation;
    GElf_Sym symbol;
    if (gelf_getrela(data, static_cast<int>(i), &relocation) == nullptr) return;
    const auto type = GELF_R_TYPE(relocation.r_info);
    if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) continue;
    const auto index = static_cast<int>(GELF_R_SYM(relocation.r_info));
    if (gelf_getsym(symbols, index, &symbol) == nullptr) continue;
    const char* name = elf_strptr(elf_, symbols_header.sh_link, symbol.st_name);
    if (name != nullptr && *name != '\0') functions_by_slot_.emplace(relocation.r_offset, name);
  }
}

// There may be hundreds of thousands: they are read when a stub is asked for.
const char* PltStubs::function_of_slot(uint64_t slot) {
  for (Elf_Scn* section : relocations_) add_relocations(section);
  relocations_.clear();
  const auto function = functions_by_slot_.find(slot);
  return function != functions_by_slot_.end() ? function->second : nullptr;
}

const char* PltStubs::find(uint64_t svma) {
  constexpr size_t kJumpSize = 6;  // ff 25 and a 32-bit offset from the next instruction
  for (const Section& section : sections_) {
    if (svma - section.begin >= section.bytes.size()) continue;
    const size_t entry = (svma - section.begin) / section.entry_size * section.entry_size;
    for (size_t at = entry;
         at + kJumpSize <= std::min<size_t>(entry + section.entry_size, section.bytes.size());
         ++at) {
      if (section.bytes[at] != 0xff || section.bytes[at + 1] != 0x25) continue;
      int32_t offset = 0;
      std::memcpy(&offset, &section.bytes[at + 2], sizeof offset);
      return function_of_slot(section.begin + at + kJumpSize +
                              static_cast<uint64_t>(int64_t{offset}));
    }
  }
  return nullptr;
}

}  // namespace sampan::symbolizer
