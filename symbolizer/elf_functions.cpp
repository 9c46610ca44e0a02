#include "symbolizer/elf_symbols.h"

#include <gelf.h>

#include <algorithm>
#include <cstring>
#include <tuple>

namespace sampan::symbolizer {

namespace {

// Sections that symbols of code may be in: the end of each, 0 for the others.
std::vector<uint64_t> ends_of_code_sections(Elf* elf) {
  std::vector<uint64_t> ends;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    const bool is_code =
        gelf_getshdr(section, &header) != nullptr && (header.sh_flags & SHF_EXECINSTR) != 0;
    ends.resize(elf_ndxscn(section) + 1);
    ends.back() = is_code ? header.sh_addr + header.sh_size : 0;
  }
  return ends;
}

bool names_code(const GElf_Sym& symbol) {
  switch (GELF_ST_TYPE(symbol.st_info)) {
    case STT_FUNC:
    case STT_GNU_IFUNC:
    case STT_NOTYPE:  // hand-written assembly
      return true;
    default: return false;
  }
}

// The largest programs have a few million.
constexpr size_t kMaxSymbols = size_t{1} << 24;

size_t leading_underscores(const char* name) {
  return strspn(name, "_");
}

}  // namespace

bool ElfSymbols::add(const ElfFile& file) {
  Elf* elf = file.handle();
  const std::vector<uint64_t> code_ends = ends_of_code_sections(elf);
  Elf_Scn* symtab = nullptr;
  Elf_Scn* dynsym = nullptr;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    if (header.sh_type == SHT_SYMTAB) symtab = section;
    if (header.sh_type == SHT_DYNSYM) dynsym = section;
  }
  if (Elf_Scn* table = symtab != nullptr ? symtab : dynsym) add_table(elf, table, code_ends);
  return symtab != nullptr;
}

void ElfSymbols::add_table(Elf* elf, Elf_Scn* table, const std::vector<uint64_t>& code_ends) {
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
    if (symbol.st_shndx >= code_ends.size() || symbol.st_name >= strings->d_size) continue;
    const uint64_t section_end = code_ends[symbol.st_shndx];
    const char* name = text + symbol.st_name;
    if (symbol.st_value >= section_end || *name == '\0' || !names_code(symbol)) continue;
    const uint64_t size = std::min(symbol.st_size, section_end - symbol.st_value);
    symbols_.push_back({symbol.st_value, symbol.st_value + size, section_end, 0, name,
                        GELF_ST_BIND(symbol.st_info) == STB_LOCAL, size != 0});
  }
}

bool ElfSymbols::before(const Symbol& a, const Symbol& b) {
  if (a.begin != b.begin) return a.begin < b.begin;
  const auto rank = [](const Symbol& s) {
    return std::tuple(s.local, leading_underscores(s.name), strlen(s.name), s.end == s.begin);
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
      symbol.end = std::max(symbol.end, symbols_[i].end);  // an alias may lack the size
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
  // Mostly the last one that begins before; else a longer one around it.
  while (after != symbols_.begin()) {
    const Symbol& symbol = *--after;
    if (svma < symbol.end) return {symbol.name, symbol.begin, symbol.end, symbol.has_size};
    if (svma >= symbol.max_end) break;
  }
  return {};
}

}  // namespace sampan::symbolizer
