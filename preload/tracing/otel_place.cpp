#include "preload/tracing/otel_place.h"

#include <elf.h>
#include <string.h>

#include <span>

#include "preload/support/symbol_table.h"

namespace sampan::preload {
namespace {

constexpr char kVariable[] = "otel_thread_ctx_v1";

// A library that was loaded later has its own references to the variable: the loader has written the
// distance from the thread pointer there, if it has found room in the static storage.
OtelPlace place_by_references(const dl_phdr_info& module, const SymbolTable& symbols,
                              const ElfW(Sym) & symbol) {
  const uint64_t index = symbols.index_of(symbol);
  for (const auto relocations : {symbols.relocations(), symbols.plt_relocations()}) {
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

OtelPlace place_of(const dl_phdr_info& module, const SymbolTable& symbols, const ElfW(Sym) & symbol,
                   bool at_start) {
  for (const Found& known : std::span(before, before_count)) {
    if (known.module == module.dlpi_tls_modid &&
        known.address == reinterpret_cast<uint64_t>(&symbol)) {
      return known.place;
    }
  }
  if (!at_start || module.dlpi_tls_data == nullptr) {
    return place_by_references(module, symbols, symbol);
  }
  const uint64_t avma = reinterpret_cast<uint64_t>(module.dlpi_tls_data) + symbol.st_value;
  return OtelPlace::in_static_storage(static_cast<int64_t>(avma - thread_pointer()));
}

}  // namespace

void begin_otel_search(bool all) {
  before_count = 0;
  if (!all) return;
  before_count = found_count;
  memcpy(before, found, sizeof found);
  found_count = 0;
}

void look_for_otel(const dl_phdr_info& module, bool at_start) {
  if (module.dlpi_tls_modid == 0 || found_count == kMostOtelPlaces) return;
  const SymbolTable symbols(module);
  const ElfW(Sym)* const symbol = symbols.find(kVariable);
  if (symbol == nullptr || ELF64_ST_TYPE(symbol->st_info) != STT_TLS) return;
  found[found_count++] = {module.dlpi_tls_modid, reinterpret_cast<uint64_t>(symbol),
                          place_of(module, symbols, *symbol, at_start)};
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
