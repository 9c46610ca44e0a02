// Symbols of the modules that are loaded, found in the loader's list and in the modules' own tables, as dlsym would find them:
// before main a program's malloc may not work yet, and dlsym may call it (symbol_table.h).
//
// Ordinary context: the list is read without the loader's lock. Modules that the program begins with, where what is looked up
// is, stand at its beginning and are never unloaded.
// Freestanding: linked into the target.
#pragma once

#include <link.h>

#include <cstdint>

#include "preload/support/symbol_table.h"

namespace sampan::preload {

// The shim itself; null where the loader has it in no list.
const link_map* own_module();

// As dlsym(RTLD_NEXT) finds it: in the first module after the shim. Null: none has it.
void* next_symbol(const char* name, const char* version = nullptr);
// The module in which it finds it.
const link_map* next_module_with(const char* name);
// As dlsym(RTLD_DEFAULT): in the first module of all.
void* global_symbol(const char* name);
// In `module` alone.
void* symbol_in(const link_map& module, const char* name);

// The module that has this name for programs that are linked with it (DT_SONAME); null: none.
const link_map* module_named(const char* soname);

// Calls `call` for the modules in the loader's order, until it returns true.
template <typename F>
const link_map* find_module(const link_map* from, F&& call) {
  for (const link_map* module = from; module != nullptr; module = module->l_next) {
    if (call(*module)) return module;
  }
  return nullptr;
}
inline const link_map* first_module() {
  return _r_debug.r_map;
}

}  // namespace sampan::preload
