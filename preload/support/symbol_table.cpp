#include "preload/support/symbol_table.h"

#include <string.h>

namespace sampan::preload {
namespace {

// The tables are read-only, but may be damaged.
constexpr unsigned kMostInChain = 1 << 16;
constexpr unsigned kMostVersions = 1 << 12;
constexpr Elf64_Versym kHiddenVersion = 0x8000;  // not for programs that are linked today

const Elf64_Dyn* dynamic_of(const dl_phdr_info& module) {
  for (const Elf64_Phdr& header : std::span(module.dlpi_phdr, module.dlpi_phnum)) {
    if (header.p_type == PT_DYNAMIC) {
      return reinterpret_cast<const Elf64_Dyn*>(module.dlpi_addr + header.p_vaddr);
    }
  }
  return nullptr;
}

uint32_t gnu_hash_of(const char* name) {
  uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

uint32_t sysv_hash_of(const char* name) {
  uint32_t hash = 0;
  for (; *name != '\0'; ++name) {
    hash = (hash << 4) + static_cast<unsigned char>(*name);
    hash ^= (hash >> 24) & 0xf0;
    hash &= 0x0fff'ffff;
  }
  return hash;
}

template <typename T>
const T* after(const T* entry, uint32_t distance) {
  return reinterpret_cast<const T*>(reinterpret_cast<const char*>(entry) + distance);
}

}  // namespace

SymbolTable::SymbolTable(const dl_phdr_info& module)
    : SymbolTable(module.dlpi_addr, dynamic_of(module)) {}

SymbolTable::SymbolTable(uint64_t bias, const Elf64_Dyn* dynamic) : bias_(bias) {
  const Elf64_Rela* rela = nullptr;
  const Elf64_Rela* plt = nullptr;
  uint64_t rela_size = 0, plt_size = 0, soname = 0;
  for (; dynamic != nullptr && dynamic->d_tag != DT_NULL; ++dynamic) {
    // The loader has added the bias in most dynamic sections, not in the vDSO's.
    const uint64_t value = dynamic->d_un.d_ptr;
    const uint64_t avma = value < bias ? value + bias : value;
    switch (dynamic->d_tag) {
      case DT_SYMTAB: symbols_ = reinterpret_cast<const Elf64_Sym*>(avma); break;
      case DT_STRTAB: strings_ = reinterpret_cast<const char*>(avma); break;
      case DT_SONAME: soname = value; break;
      case DT_GNU_HASH: gnu_hash_ = reinterpret_cast<const uint32_t*>(avma); break;
      case DT_HASH: hash_ = reinterpret_cast<const uint32_t*>(avma); break;
      case DT_VERSYM: versions_ = reinterpret_cast<const Elf64_Versym*>(avma); break;
      case DT_VERDEF: definitions_ = reinterpret_cast<const Elf64_Verdef*>(avma); break;
      case DT_RELA: rela = reinterpret_cast<const Elf64_Rela*>(avma); break;
      case DT_RELASZ: rela_size = value / sizeof *rela; break;
      case DT_JMPREL: plt = reinterpret_cast<const Elf64_Rela*>(avma); break;
      case DT_PLTRELSZ: plt_size = value / sizeof *plt; break;
      default: break;
    }
  }
  if (rela != nullptr) relocations_ = {rela, rela_size};
  if (plt != nullptr) plt_relocations_ = {plt, plt_size};
  if (soname != 0 && strings_ != nullptr) soname_ = strings_ + soname;
}

bool SymbolTable::is_of_version(uint64_t index, const char* version) const {
  if (versions_ == nullptr) return true;
  const Elf64_Versym number = versions_[index];
  if (version == nullptr) return (number & kHiddenVersion) == 0;
  const Elf64_Verdef* definition = definitions_;
  for (unsigned i = 0; definition != nullptr && i < kMostVersions; ++i) {
    if (definition->vd_ndx == (number & ~kHiddenVersion)) {
      const auto* const name =
          after(reinterpret_cast<const Elf64_Verdaux*>(definition), definition->vd_aux);
      return strcmp(strings_ + name->vda_name, version) == 0;
    }
    definition = definition->vd_next != 0 ? after(definition, definition->vd_next) : nullptr;
  }
  return false;
}

bool SymbolTable::is(uint64_t index, const char* name, const char* version) const {
  const Elf64_Sym& symbol = symbols_[index];
  return symbol.st_shndx != SHN_UNDEF && ELF64_ST_BIND(symbol.st_info) != STB_LOCAL &&
         strcmp(strings_ + symbol.st_name, name) == 0 && is_of_version(index, version);
}

// The index of a symbol; 0: none. The index 0 is no symbol's.
uint64_t SymbolTable::find_by_gnu_hash(const char* name, const char* version) const {
  const uint32_t hash = gnu_hash_of(name);
  const uint32_t buckets = gnu_hash_[0], first = gnu_hash_[1], bloom_words = gnu_hash_[2];
  if (buckets == 0 || bloom_words == 0) return 0;
  const auto* const bloom = reinterpret_cast<const uint64_t*>(gnu_hash_ + 4);
  const uint64_t word = bloom[hash / 64 % bloom_words];
  if ((word >> hash % 64 & word >> (hash >> gnu_hash_[3]) % 64 & 1) == 0) return 0;
  const uint32_t* const bucket = gnu_hash_ + 4 + bloom_words * 2;
  const uint32_t* const chain = bucket + buckets;
  uint64_t index = bucket[hash % buckets];
  if (index < first) return 0;
  for (unsigned i = 0; i < kMostInChain; ++i, ++index) {
    const uint32_t other = chain[index - first];
    if ((other | 1) == (hash | 1) && is(index, name, version)) return index;
    if ((other & 1) != 0) return 0;
  }
  return 0;
}

uint64_t SymbolTable::find_by_hash(const char* name, const char* version) const {
  const uint32_t buckets = hash_[0];
  if (buckets == 0) return 0;
  const uint32_t* const chain = hash_ + 2 + buckets;
  uint64_t index = hash_[2 + sysv_hash_of(name) % buckets];
  for (unsigned i = 0; index != 0 && i < kMostInChain; ++i, index = chain[index]) {
    if (is(index, name, version)) return index;
  }
  return 0;
}

const Elf64_Sym* SymbolTable::find(const char* name, const char* version) const {
  if (!has_symbols()) return nullptr;
  uint64_t index = 0;
  if (gnu_hash_ != nullptr) {
    index = find_by_gnu_hash(name, version);
  } else if (hash_ != nullptr) {
    index = find_by_hash(name, version);
  }
  return index != 0 ? symbols_ + index : nullptr;
}

uint64_t SymbolTable::avma(const Elf64_Sym& symbol) const {
  const unsigned type = ELF64_ST_TYPE(symbol.st_info);
  return type == STT_TLS || type == STT_GNU_IFUNC ? 0 : bias_ + symbol.st_value;
}

uint64_t SymbolTable::avma_of(const char* name, const char* version) const {
  const Elf64_Sym* const symbol = find(name, version);
  return symbol != nullptr ? avma(*symbol) : 0;
}

}  // namespace sampan::preload
