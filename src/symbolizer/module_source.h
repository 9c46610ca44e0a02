// All that is known about the code of one module: its files, opened, and what they answer.
//
// For one thread at a time, as libelf and libdw are; several of the same module may live at once.
#pragma once

#include <elfutils/libdw.h>

#include <memory>
#include <optional>
#include <span>
#include <string>

#include <vector>

#include "symbolizer/dwarf_units.h"
#include "symbolizer/elf_symbols.h"
#include "symbolizer/function_starts.h"
#include "symbolizer/module_files.h"
#include "symbolizer/plt_stubs.h"
#include "symbolizer/source_lines.h"
#include "symbolizer/unit_lines.h"

namespace sampan::symbolizer {

class ModuleSource {
 public:
  // Debug information that is compressed is read only up to `inflate_limit` bytes, see
  // symbolizer.h. Never throws for what is wrong with the files.
  ModuleSource(const profile::Module& module, const std::string& path,
               const std::vector<std::string>& debug_directories, uint64_t inflate_limit);

  // The units to resolve for these addresses (ascending); some may be in none.
  std::vector<UnitAddresses> units(std::span<const uint64_t> svmas);
  // False when the unit is damaged.
  bool resolve(const UnitAddresses& unit, Names& names, LinesByAddress& lines);
  // Asks the symbol tables for the function that was compiled at an address, where `line` has none,
  // or has a C library's internal name for what a table knows as "malloc".
  void improve(SourceLine& line, uint64_t svma, Names& names);
  // By the unwind table, see function_starts.h.
  std::optional<uint64_t> function_start(uint64_t svma);

  // Whether another ModuleSource of the same module costs little.
  bool is_cheap_to_open() const { return cheap_; }
  const std::string& problem() const { return problem_; }

 private:
  const char* symbol_at(uint64_t svma);
  const char* stub_at(uint64_t svma);

  struct EndDwarf {
    void operator()(Dwarf* dwarf) const { dwarf_end(dwarf); }
  };

  ModuleFiles files_;
  std::unique_ptr<Dwarf, EndDwarf> dwarf_;  // after files_: it ends before them
  ElfSymbols symbols_;
  bool symbols_read_ = false;
  std::optional<FunctionStarts> starts_;
  std::optional<PltStubs> stubs_;

  bool cheap_ = true;
  std::string problem_;
};

}  // namespace sampan::symbolizer
