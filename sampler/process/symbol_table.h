// The symbols of an ELF file: one that a process has mapped, or one that it has made in its memory.
// A file that makes no sense has no symbols. Format: System V ABI, chapter 4.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "sampler/process/module_file.h"

namespace sampan::sampler {

struct Symbol {
  std::string_view name;  // while the table lives
  Svma svma;
  uint64_t size;  // in bytes
  bool is_function;
};

class SymbolTable {
 public:
  // `type`: SHT_DYNSYM, what a module offers to others, which is there in stripped files, too; or
  // SHT_SYMTAB.
  SymbolTable(const ModuleBytes& bytes, uint32_t type);

  // Calls each() for the symbols that the file defines.
  void for_each(const std::function<void(const Symbol&)>& each) const;

  size_t size() const { return symbols_.size() + names_.size(); }  // in bytes
  // A hash of the symbols, their names and the sections' addresses.
  uint64_t hash() const;

 private:
  Svma place_of(const Elf64_Sym& symbol) const;

  std::vector<Elf64_Shdr> sections_;
  std::vector<Elf64_Sym> symbols_;
  std::vector<char> names_;
};

}  // namespace sampan::sampler
