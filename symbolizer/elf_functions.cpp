#include "symbolizer/elf_functions.h"

#include <gelf.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <tuple>
#include <vector>

#include "unwind/cfi.h"

namespace sampan::symbolizer {
namespace {

// Labels that tools leave: "$x" (mapping symbols), ".annobin_main.c" (what gcc was called with).
bool is_mark(std::string_view name) {
  return name.starts_with(".annobin_") ||
         (name.starts_with('$') && (name.size() == 2 || (name.size() > 2 && name[2] == '.')));
}

bool names_code(const GElf_Sym& symbol, std::string_view name) {
  switch (GELF_ST_TYPE(symbol.st_info)) {
    case STT_FUNC:
    case STT_GNU_IFUNC: return true;
    case STT_NOTYPE: return !is_mark(name);  // hand-written assembly
    default: return false;
  }
}

// The largest programs have a few million.
constexpr size_t kMaxSymbols = size_t{1} << 24;

size_t leading_underscores(const char* name) {
  return strspn(name, "_");
}

// The slot through which a stub jumps that begins at `begin`.
std::optional<uint64_t> slot_of_x86_64(std::span<const uint8_t> code, uint64_t begin) {
  constexpr size_t kJumpSize = 6;  // ff 25 and a 32-bit offset from the next instruction
  for (size_t at = 0; at + kJumpSize <= code.size(); ++at) {
    if (code[at] != 0xff || code[at + 1] != 0x25) continue;
    int32_t offset = 0;
    std::memcpy(&offset, &code[at + 2], sizeof offset);
    return begin + at + kJumpSize + static_cast<uint64_t>(int64_t{offset});
  }
  return std::nullopt;
}

std::optional<uint64_t> slot_of_aarch64(std::span<const uint8_t> code, uint64_t begin) {
  for (size_t at = 0; at + 8 <= code.size(); at += 4) {
    uint32_t adrp = 0, load = 0;
    std::memcpy(&adrp, &code[at], sizeof adrp);
    std::memcpy(&load, &code[at + 4], sizeof load);
    const bool is_load = (load & 0xffc0'03ff) == 0xf940'0211;       // ldr x17, [x16, #offset]
    if ((adrp & 0x9f00'001f) != 0x9000'0010 || !is_load) continue;  // adrp x16, page
    const uint64_t pages = uint64_t{adrp >> 5 & 0x7'ffff} << 2 | (adrp >> 29 & 3);
    const auto distance = static_cast<uint64_t>(static_cast<int64_t>(pages << 43) >> 31);
    return ((begin + at) & ~uint64_t{4095}) + distance + (load >> 10 & 0xfff) * 8;
  }
  return std::nullopt;
}

}  // namespace

// The end of each section that can contain the symbols; 0 for other sections.
std::vector<uint64_t> ElfSymbols::ends_of_sections(Elf* elf) const {
  std::vector<uint64_t> ends;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    ends.resize(elf_ndxscn(section) + 1);
    if (gelf_getshdr(section, &header) == nullptr) continue;
    const bool is_code = (header.sh_flags & SHF_EXECINSTR) != 0;
    const bool is_data = !is_code && (header.sh_flags & SHF_ALLOC) != 0;
    if (of_ == Of::kCode ? is_code : is_data) ends.back() = header.sh_addr + header.sh_size;
  }
  return ends;
}

bool ElfSymbols::add(const ElfFile& file) {
  Elf* elf = file.handle();
  const std::vector<uint64_t> section_ends = ends_of_sections(elf);
  Elf_Scn* symtab = nullptr;
  Elf_Scn* dynsym = nullptr;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    if (header.sh_type == SHT_SYMTAB) symtab = section;
    if (header.sh_type == SHT_DYNSYM) dynsym = section;
  }
  if (Elf_Scn* table = symtab != nullptr ? symtab : dynsym) add_table(elf, table, section_ends);
  return symtab != nullptr;
}

void ElfSymbols::add_table(Elf* elf, Elf_Scn* table, const std::vector<uint64_t>& section_ends) {
  GElf_Shdr header;
  Elf_Data* data = elf_getdata(table, nullptr);
  if (gelf_getshdr(table, &header) == nullptr || data == nullptr || header.sh_entsize == 0) return;
  Elf_Scn* string_section = elf_getscn(elf, header.sh_link);
  Elf_Data* strings = string_section != nullptr ? elf_getdata(string_section, nullptr) : nullptr;
  if (strings == nullptr || strings->d_buf == nullptr || strings->d_size == 0) return;
  const char* text = static_cast<const char*>(strings->d_buf);
  if (text[strings->d_size - 1] != '\0') return;  // then every offset below is a C string

  const size_t count = std::min<size_t>(data->d_size / header.sh_entsize, kMaxSymbols);
  for (size_t i = 0; i < count; ++i) {
    GElf_Sym symbol;
    if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) return;
    if (symbol.st_shndx >= section_ends.size() || symbol.st_name >= strings->d_size) continue;
    const uint64_t section_end = section_ends[symbol.st_shndx];
    const char* name = text + symbol.st_name;
    const bool is_named =
        of_ == Of::kCode ? names_code(symbol, name) : GELF_ST_TYPE(symbol.st_info) == STT_OBJECT;
    if (symbol.st_value >= section_end || *name == '\0' || !is_named) continue;
    const uint64_t size = std::min(symbol.st_size, section_end - symbol.st_value);
    symbols_.push_back({symbol.st_value, symbol.st_value + size, section_end, 0, name,
                        GELF_ST_TYPE(symbol.st_info) != STT_NOTYPE,
                        GELF_ST_BIND(symbol.st_info) == STB_LOCAL, size != 0});
  }
}

bool ElfSymbols::before(const Symbol& a, const Symbol& b) {
  if (a.begin != b.begin) return a.begin < b.begin;
  const auto rank = [](const Symbol& s) {
    return std::tuple(!s.is_function, s.end == s.begin, s.local, leading_underscores(s.name),
                      strlen(s.name));
  };
  const auto rank_a = rank(a), rank_b = rank(b);
  return rank_a != rank_b ? rank_a < rank_b : strcmp(a.name, b.name) < 0;
}

void ElfSymbols::sort() {
  std::sort(symbols_.begin(), symbols_.end(), before);
  size_t kept = 0;
  uint64_t covered_until = 0;
  for (size_t i = 0; i < symbols_.size();) {
    Symbol symbol = symbols_[i];
    for (; i < symbols_.size() && symbols_[i].begin == symbol.begin; ++i) {
      symbol.has_size = symbol.has_size || symbols_[i].has_size;
      symbol.end = std::max(symbol.end, symbols_[i].end);  // an alias may have no size
    }
    if (symbol.end == symbol.begin) {
      if (symbol.begin < covered_until) continue;  // a label within a function
      const uint64_t next = i < symbols_.size() ? symbols_[i].begin : UINT64_MAX;
      symbol.end = std::min(next, symbol.section_end);
    }
    covered_until = std::max(covered_until, symbol.end);
    symbol.max_end = covered_until;
    symbols_[kept++] = symbol;
  }
  symbols_.resize(kept);
}

ElfSymbols::Found ElfSymbols::find(uint64_t svma) const {
  auto after =
      std::upper_bound(symbols_.begin(), symbols_.end(), svma,
                       [](uint64_t address, const Symbol& s) { return address < s.begin; });
  // Usually the last one that begins before the address, else a longer one around it.
  while (after != symbols_.begin()) {
    const Symbol& symbol = *--after;
    if (svma < symbol.end) return {symbol.name, symbol.begin, symbol.end, symbol.has_size};
    if (svma >= symbol.max_end) break;
  }
  return {};
}

PltStubs::PltStubs(const ElfFile& file)
    : elf_(file.handle()), is_aarch64_(file.machine() == EM_AARCH64) {
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
    const bool is_slot = is_aarch64_ ? type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT
                                     : type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
    if (!is_slot) continue;
    const auto index = static_cast<int>(GELF_R_SYM(relocation.r_info));
    if (gelf_getsym(symbols, index, &symbol) == nullptr) continue;
    const char* name = elf_strptr(elf_, symbols_header.sh_link, symbol.st_name);
    if (name != nullptr && *name != '\0') functions_by_slot_.emplace(relocation.r_offset, name);
  }
}

// There may be hundreds of thousands of relocations: they are read when the first stub is looked
// up.
const char* PltStubs::function_of_slot(uint64_t slot) {
  for (Elf_Scn* section : relocations_) add_relocations(section);
  relocations_.clear();
  const auto function = functions_by_slot_.find(slot);
  return function != functions_by_slot_.end() ? function->second : nullptr;
}

const char* PltStubs::find(uint64_t svma) {
  for (const Section& section : sections_) {
    if (svma - section.begin >= section.bytes.size()) continue;
    const size_t entry = (svma - section.begin) / section.entry_size * section.entry_size;
    const std::span<const uint8_t> code = section.bytes.subspan(
        entry, std::min<size_t>(section.entry_size, section.bytes.size() - entry));
    const auto slot = is_aarch64_ ? slot_of_aarch64(code, section.begin + entry)
                                  : slot_of_x86_64(code, section.begin + entry);
    if (slot) return function_of_slot(*slot);
  }
  return nullptr;
}

FunctionStarts::FunctionStarts(const ElfFile& file) {
  Elf* elf = file.handle();
  size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return;
  std::vector<GElf_Phdr> loads;
  uint64_t eh_frame_hdr = 0;
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr) return;
    if (header.p_type == PT_LOAD) loads.push_back(header);
    if (header.p_type == PT_GNU_EH_FRAME) eh_frame_hdr = header.p_vaddr;
  }
  for (const GElf_Phdr& load : loads) {
    if (eh_frame_hdr - load.p_vaddr >= load.p_filesz) continue;
    const Elf_Data* data =
        elf_getdata_rawchunk(elf, static_cast<int64_t>(load.p_offset), load.p_filesz, ELF_T_BYTE);
    if (data == nullptr || data->d_buf == nullptr) return;
    module_.eh_frame_hdr = eh_frame_hdr;
    module_.image = {{static_cast<const uint8_t*>(data->d_buf), data->d_size}, load.p_vaddr};
  }
}

std::optional<FunctionStarts::Range> FunctionStarts::last_range(uint64_t svma) const {
  uint64_t fde = 0, start = 0, end = 0;
  if (unwind::find_fde(module_, svma, fde) != unwind::CfiResult::kFound ||
      unwind::read_coverage(module_.image, fde, start, end) != unwind::CfiResult::kFound ||
      svma < start) {
    return std::nullopt;
  }
  return Range{start, end};
}

std::optional<FunctionStarts::Range> FunctionStarts::range(uint64_t svma) const {
  const std::optional<Range> last = last_range(svma);
  return last && svma < last->end ? last : std::nullopt;
}

}  // namespace sampan::symbolizer
