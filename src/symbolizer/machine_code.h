// The machine code of a module's functions, as instructions in the syntax of AT&T, which gdb and
// objdump use. By capstone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profile/profile.h"
#include "symbolizer/elf_symbols.h"
#include "symbolizer/function_starts.h"
#include "symbolizer/module_files.h"

namespace sampan::symbolizer {

struct Instruction {
  uint64_t svma = 0;
  unsigned size = 0;  // bytes
  std::string text;   // "movq %rax, (%rdi)"; "(bad)" for what is none
};

class MachineCode {
 public:
  // Throws Error, saying why, when the file that ran is not there.
  MachineCode(const profile::Module& module, const std::vector<std::string>& debug_directories);

  // The function around an address, whole: it reaches as far as its symbol says, else as its unwind
  // information does. Empty where neither covers the address.
  std::vector<Instruction> function_at(uint64_t svma) const;

 private:
  ModuleFiles files_;
  ElfSymbols symbols_;
  std::optional<FunctionStarts> starts_;
};

}  // namespace sampan::symbolizer
