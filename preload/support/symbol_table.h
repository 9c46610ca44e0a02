// The symbols that a module in memory exports, looked up in its own tables: nothing is called, allocated or locked, unlike in
// dlsym, which leaves a message for dlerror where it finds nothing, and in older C libraries allocates in any case.
//
// Freestanding: linked into the target.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstdint>
#include <span>

namespace sampan::preload {

class SymbolTable {
 public:
  SymbolTable(uint64_t bias, const Elf64_Dyn* dynamic);
  explicit SymbolTable(const link_map& module) : SymbolTable(module.l_addr, module.l_ld) {}
  explicit SymbolTable(const dl_phdr_info& module);

  // The definition of `name` in that version; without a version, the one that a program gets that is linked today. Null: none.
  const Elf64_Sym* find(const char* name, const char* version = nullptr) const;

  // Where a definition is, for a function that is chosen when it is looked up (STT_GNU_IFUNC) or a variable of a thread: 0.
  uint64_t avma(const Elf64_Sym& symbol) const;
  // Of what `find` finds; 0: nothing.
  uint64_t avma_of(const char* name, const char* version = nullptr) const;

  uint64_t bias() const { return bias_; }
  const Elf64_Sym& symbol(uint64_t index) const { return symbols_[index]; }
  uint64_t index_of(const Elf64_Sym& symbol) const {
    return static_cast<uint64_t>(&symbol - symbols_);
  }
  const char* name_of(const Elf64_Sym& symbol) const { return strings_ + symbol.st_name; }
  bool has_symbols() const { return symbols_ != nullptr && strings_ != nullptr; }
  std::span<const Elf64_Rela> relocations() const { return relocations_; }
  std::span<const Elf64_Rela> plt_relocations() const { return plt_relocations_; }
  const char* soname() const { return soname_; }  // null: none

 private:
  bool is(uint64_t index, const char* name, const char* version) const;
  bool is_of_version(uint64_t index, const char* version) const;
  uint64_t find_by_gnu_hash(const char* name, const char* version) const;
  uint64_t find_by_hash(const char* name, const char* version) const;

  uint64_t bias_;
  const Elf64_Sym* symbols_ = nullptr;
  const char* strings_ = nullptr;
  const char* soname_ = nullptr;
  const uint32_t* gnu_hash_ = nullptr;
  const uint32_t* hash_ = nullptr;
  const Elf64_Versym* versions_ = nullptr;
  const Elf64_Verdef* definitions_ = nullptr;
  std::span<const Elf64_Rela> relocations_, plt_relocations_;
};

}  // namespace sampan::preload
