// The names of the running kernel's functions, from /proc/kallsyms (proc(5)). They are of use only for recordings of this boot:
// the kernel is at another address after each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sampan::importers {

class KernelSymbols {
 public:
  // Reads a text as that of /proc/kallsyms. No symbols unless `reference`, "_text", has this address in it: then it is of another
  // boot, or addresses are hidden (kptr_restrict).
  KernelSymbols(std::string_view text, std::string_view reference, uint64_t address);

  bool empty() const { return symbols_.empty(); }
  // "" where none is known.
  std::string_view name(uint64_t address) const;

 private:
  struct Symbol {
    uint64_t address;
    std::string name;
  };
  std::vector<Symbol> symbols_;  // by address
};

}  // namespace sampan::importers
