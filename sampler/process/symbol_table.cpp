#include "sampler/process/symbol_table.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <tuple>

#include "base/interner.h"

namespace sampan::sampler {
namespace {

constexpr uint64_t kLargestTable = uint64_t{64} << 20;

// The rows in `size` bytes of the file; none when not all of them can be read. A size that lies
// costs no memory.
template <typename Row>
std::vector<Row> read_rows(const ModuleBytes& bytes, uint64_t offset, uint64_t size) {
  uint8_t last;
  const uint64_t end = offset + size;
  if (size > kLargestTable || end <= offset || !read_all(bytes, end - 1, {&last, 1})) return {};
  std::vector<Row> rows(size / sizeof(Row));
  const std::span<Row> all = rows;
  if (!read_all(bytes, offset, {reinterpret_cast<uint8_t*>(all.data()), all.size_bytes()})) {
    rows.clear();
  }
  return rows;
}

template <typename Row>
std::string_view bytes_of(const std::vector<Row>& rows) {
  return {reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(Row)};
}

}  // namespace

SymbolTable::SymbolTable(const ModuleBytes& bytes, uint32_t type) {
  Elf64_Ehdr file;
  if (!read_all(bytes, 0, {reinterpret_cast<uint8_t*>(&file), sizeof file}) ||
      std::memcmp(file.e_ident, ELFMAG, SELFMAG) != 0 || file.e_ident[EI_CLASS] != ELFCLASS64) {
    return;
  }
  sections_ = read_rows<Elf64_Shdr>(bytes, file.e_shoff, file.e_shnum * sizeof(Elf64_Shdr));
  const auto table = std::ranges::find(sections_, type, &Elf64_Shdr::sh_type);
  if (table == sections_.end() || table->sh_link >= sections_.size()) return;
  const Elf64_Shdr& names = sections_[table->sh_link];
  symbols_ = read_rows<Elf64_Sym>(bytes, table->sh_offset, table->sh_size);
  names_ = read_rows<char>(bytes, names.sh_offset, names.sh_size);
}

void SymbolTable::for_each(const std::function<void(const Symbol&)>& each) const {
  const std::string_view names = bytes_of(names_);
  for (const Elf64_Sym& symbol : symbols_) {
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= names.size()) continue;
    const std::string_view rest = names.substr(symbol.st_name);
    each({rest.substr(0, rest.find('\0')), place_of(symbol), symbol.st_size,
          ELF64_ST_TYPE(symbol.st_info) == STT_FUNC});
  }
}

// A value is an address, or in a relocatable file an offset in its section. Runtimes mix the two in
// the files that they make of relocatable ones (Wasmtime), so the value tells, not the type of the
// file.
Svma SymbolTable::place_of(const Elf64_Sym& symbol) const {
  const Svma value = Svma::at(symbol.st_value);
  if (symbol.st_shndx >= sections_.size()) return value;
  const Elf64_Shdr& section = sections_[symbol.st_shndx];
  const bool is_address = value - Svma::at(section.sh_addr) < section.sh_size;
  return is_address || value >= section.sh_size ? value : value + section.sh_addr;
}

uint64_t SymbolTable::hash() const {
  return hash_of(std::tuple(bytes_of(sections_), bytes_of(symbols_), bytes_of(names_)));
}

}  // namespace sampan::sampler
