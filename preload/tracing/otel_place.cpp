#include "preload/tracing/otel_place.h"

#include <elf.h>
#include <string.h>

#include <span>

namespace sampan::preload {
namespace {

constexpr char kVariable[] = "otel_thread_ctx_v1";
constexpr uint32_t kMostInBucket = 1 << 16;  // symbols; the table is read-only but may be damaged

// What the dynamic section of a module leads to.
struct DynamicTables {
  const ElfW(Sym) * symbols;
  const char* strings;
  const uint32_t* gnu_hash;
  const uint32_t* hash;
  std::span<const ElfW(Rela)> relocations, plt_relocations;
};

DynamicTables tables_of(const dl_phdr_info& module) {
  DynamicTables tables{};
  const ElfW(Rela)* rela = nullptr, *plt = nullptr;
  size_t rela_size = 0, plt_size = 0;
  for (const ElfW(Phdr) & header : std::span(module.dlpi_phdr, module.dlpi_phnum)) {
    if (header.p_type != PT_DYNAMIC) continue;
    const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(module.dlpi_addr + header.p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      // The loader has added the bias in most dynamic sections.
      const uint64_t value = entry->d_un.d_ptr;
      const uint64_t avma = value < module.dlpi_addr ? value + module.dlpi_addr : value;
      switch (entry->d_tag) {
        case DT_SYMTAB: tables.symbols = reinterpret_cast<const ElfW(Sym)*>(avma); break;
        case DT_STRTAB: tables.strings = reinterpret_cast<const char*>(avma); break;
        case DT_GNU_HASH: tables.gnu_hash = reinterpret_cast<const uint32_t*>(avma); break;
        case DT_HASH: tables.hash = reinterpret_cast<const uint32_t*>(avma); break;
        case DT_RELA: rela = reinterpret_cast<const ElfW(Rela)*>(avma); break;
        case DT_RELASZ: rela_size = value / sizeof *rela; break;
        case DT_JMPREL: plt = reinterpret_cast<const ElfW(Rela)*>(avma); break;
        case DT_PLTRELSZ: plt_size = value / sizeof *plt; break;
        default: break;
      }
    }
  }
  if (rela != nullptr) tables.relocations = {rela, rela_size};
  if (plt != nullptr) tables.plt_relocations = {plt, plt_size};
  return tables;
}

bool defines(const DynamicTables& tables, uint32_t index) {
  const ElfW(Sym)& symbol = tables.symbols[index];
  return symbol.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) == STT_TLS &&
         strcmp(tables.strings + symbol.st_name, kVariable) == 0;
}

// The index of the variable's symbol; 0: the module does not define it.
uint32_t find_by_gnu_hash(const DynamicTables& tables) {
  uint32_t hash = 5381;
  for (const char* letter = kVariable; *letter != '\0'; ++letter) {
    hash = hash * 33 + static_cast<unsigned char>(*letter);
  }
  const uint32_t buckets = tables.gnu_hash[0], first = tables.gnu_hash[1];
  const uint32_t bloom_words = tables.gnu_hash[2];
  if (buckets == 0) return 0;
  const uint32_t* const bucket = tables.gnu_hash + 4 + bloom_words * 2;
  const uint32_t* const chain = bucket + buckets;
  uint32_t index = bucket[hash % buckets];
  if (index < first) return 0;
  for (uint32_t i = 0; i < kMostInBucket; ++i, ++index) {
    const uint32_t other = chain[index - first];
    if ((other | 1) == (hash | 1) && defines(tables, index)) return index;
    if ((other & 1) != 0) return 0;
  }
  return 0;
}

uint32_t find_symbol(const DynamicTables& tables) {
  if (tables.symbols == nullptr || tables.strings == nullptr) return 0;
  if (tables.gnu_hash != nullptr) return find_by_gnu_hash(tables);
  if (tables.hash == nullptr) return 0;
  for (uint32_t index = 1; index < tables.hash[1]; ++index) {
    if (defines(tables, index)) return index;
  }
  return 0;
}

// A library that was loaded later has its own references to the variable: the loader has written the
// distance from the thread pointer there, if it has found room in the static storage.
OtelPlace place_by_references(const dl_phdr_info& module, const DynamicTables& tables,
                              uint32_t index) {
  const ElfW(Sym)& symbol = tables.symbols[index];
  for (const auto relocations : {tables.relocations, tables.plt_relocations}) {
    for (const ElfW(Rela) & reference : relocations) {
      const uint64_t target = ELF64_R_SYM(reference.r_info);
      const bool is_it =
          target == index ||
          (target == 0 && static_cast<uint64_t>(reference.r_addend) == symbol.st_value);
      if (!is_it) continue;
      const uint64_t type = ELF64_R_TYPE(reference.r_info);
      const auto* const words =
          reinterpret_cast<const int64_t*>(module.dlpi_addr + reference.r_offset);
      if (type == kThreadOffsetRelocation) return OtelPlace::in_static_storage(words[0]);
      // The descriptor's argument is a distance, or a pointer.
      if (type == kThreadDescriptorRelocation && is_thread_offset(words[1])) {
        return OtelPlace::in_static_storage(words[1]);
      }
    }
  }
  return OtelPlace::in_block(module.dlpi_tls_modid, symbol.st_value);
}

struct Found {
  size_t module;     // its number among those with thread-local storage
  uint64_t address;  // of the symbol's entry
  OtelPlace place;
};
Found found[kMostOtelPlaces], before[kMostOtelPlaces];
size_t found_count, before_count;

OtelPlace place_of(const dl_phdr_info& module, const DynamicTables& tables, uint32_t index,
                   bool at_start) {
  const ElfW(Sym)& symbol = tables.symbols[index];
  for (const Found& known : std::span(before, before_count)) {
    if (known.module == module.dlpi_tls_modid &&
        known.address == reinterpret_cast<uint64_t>(&symbol)) {
      return known.place;
    }
  }
  if (!at_start || module.dlpi_tls_data == nullptr) {
    return place_by_references(module, tables, index);
  }
  const uint64_t avma = reinterpret_cast<uint64_t>(module.dlpi_tls_data) + symbol.st_value;
  return OtelPlace::in_static_storage(static_cast<int64_t>(avma - thread_pointer()));
}

}  // namespace

void begin_otel_search() {
  before_count = found_count;
  memcpy(before, found, sizeof found);
  found_count = 0;
}

void look_for_otel(const dl_phdr_info& module, bool at_start) {
  if (module.dlpi_tls_modid == 0 || found_count == kMostOtelPlaces) return;
  const DynamicTables tables = tables_of(module);
  const uint32_t index = find_symbol(tables);
  if (index == 0) return;
  found[found_count++] = {module.dlpi_tls_modid, reinterpret_cast<uint64_t>(&tables.symbols[index]),
                          place_of(module, tables, index, at_start)};
}

void end_otel_search() {
  size_t count = 0;
  for (const Found& each : std::span(found, found_count)) {
    if (!each.place.is_none()) {
      otel_places[count++].store(each.place.word(), std::memory_order_relaxed);
    }
  }
  for (; count < kMostOtelPlaces; ++count) otel_places[count].store(0, std::memory_order_relaxed);
}

}  // namespace sampan::preload
