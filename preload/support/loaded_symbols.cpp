#include "preload/support/loaded_symbols.h"

#include <dlfcn.h>
#include <string.h>

namespace sampan::preload {
namespace {

// A function that is chosen when it is looked up is chosen by the loader: it is there, so nothing is allocated.
void* address_in(const link_map& module, const char* name, const char* version, void* scope) {
  const SymbolTable table(module);
  const ElfW(Sym)* const symbol = table.find(name, version);
  if (symbol == nullptr || ELF64_ST_TYPE(symbol->st_info) == STT_TLS) return nullptr;
  if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC) return dlsym(scope, name);
  return reinterpret_cast<void*>(table.avma(*symbol));
}

void* address_from(const link_map* from, const char* name, const char* version, void* scope) {
  void* found = nullptr;
  find_module(from, [&](const link_map& module) {
    found = address_in(module, name, version, scope);
    return found != nullptr;
  });
  return found;
}

}  // namespace

const link_map* own_module() {
  static constinit const link_map* own = nullptr;
  const link_map* known = __atomic_load_n(&own, __ATOMIC_RELAXED);
  if (known == nullptr) {
    known =
        find_module(first_module(), [](const link_map& module) { return module.l_ld == _DYNAMIC; });
    __atomic_store_n(&own, known, __ATOMIC_RELAXED);
  }
  return known;
}

void* next_symbol(const char* name, const char* version) {
  const link_map* const own = own_module();
  return own != nullptr ? address_from(own->l_next, name, version, RTLD_NEXT) : nullptr;
}

const link_map* next_module_with(const char* name) {
  const link_map* const own = own_module();
  return find_module(own != nullptr ? own->l_next : nullptr, [name](const link_map& module) {
    return SymbolTable(module).find(name) != nullptr;
  });
}

void* global_symbol(const char* name) {
  return address_from(first_module(), name, nullptr, RTLD_DEFAULT);
}

void* symbol_in(const link_map& module, const char* name) {
  return address_in(module, name, nullptr, const_cast<link_map*>(&module));
}

const link_map* module_named(const char* soname) {
  return find_module(first_module(), [soname](const link_map& module) {
    const char* const own = SymbolTable(module).soname();
    return own != nullptr && strcmp(own, soname) == 0;
  });
}

}  // namespace sampan::preload
