#include "sampler/process/dynamic_symbols.h"

#include <elf.h>

#include <cstring>
#include <vector>

namespace sampan::sampler {
namespace {

constexpr uint64_t kLargestSection = uint64_t{16} << 20;

template <typename Row>
bool read_row(const ModuleBytes& bytes, uint64_t offset, Row& row) {
  return read_all(bytes, offset, {reinterpret_cast<uint8_t*>(&row), sizeof row});
}

// The section's content; empty when it cannot be read, or is larger than any that is looked for.
std::vector<uint8_t> content(const ModuleBytes& bytes, const Elf64_Shdr& section) {
  std::vector<uint8_t> content(section.sh_size <= kLargestSection ? section.sh_size : 0);
  if (!read_all(bytes, section.sh_offset, content)) content.clear();
  return content;
}

}  // namespace

void for_each_dynamic_symbol(const ModuleBytes& bytes,
                             const std::function<void(const DynamicSymbol&)>& each) {
  Elf64_Ehdr file;
  Elf64_Shdr section{}, names{};
  if (!read_row(bytes, 0, file)) return;
  const auto section_at = [&](uint32_t index, Elf64_Shdr& header) {
    return index < file.e_shnum && read_row(bytes, file.e_shoff + index * sizeof header, header);
  };
  uint32_t index = 0;
  while (section_at(index, section) && section.sh_type != SHT_DYNSYM) ++index;
  if (section.sh_type != SHT_DYNSYM || !section_at(section.sh_link, names)) return;
  const std::vector<uint8_t> symbols = content(bytes, section), text = content(bytes, names);
  const std::string_view all_names(reinterpret_cast<const char*>(text.data()), text.size());
  Elf64_Sym symbol;
  for (size_t at = 0; at + sizeof symbol <= symbols.size(); at += sizeof symbol) {
    std::memcpy(&symbol, &symbols[at], sizeof symbol);
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= all_names.size()) continue;
    const std::string_view rest = all_names.substr(symbol.st_name);
    each({rest.substr(0, rest.find('\0')), Svma::at(symbol.st_value), symbol.st_size});
  }
}

}  // namespace sampan::sampler
