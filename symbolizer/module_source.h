// Everything that is known about the code of one module: its opened files, and what they say about
// addresses.
//
// For one thread at a time, as libelf is; only debug() may be used by several.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "symbolizer/debug_file.h"
#include "symbolizer/elf_functions.h"
#include "symbolizer/go_table.h"
#include "symbolizer/module_files.h"
#include "symbolizer/source_lines.h"

namespace sampan::symbolizer {

class ModuleSource {
 public:
  // Reads compressed debug information only if it has at most `inflate_limit` bytes inflated, see
  // symbolizer.h. Never throws because of bad files.
  ModuleSource(const profile::Module& module, const std::string& path,
               const std::vector<std::string>& debug_directories, uint64_t inflate_limit,
               DebugServer* server);

  // Null if there is none, or it is too large to be read.
  const DebugFile* debug() const { return debug_ ? &*debug_ : nullptr; }
  // Completes what debug information says about an address, if anything, from Go's table and the
  // symbol tables. Afterwards there is at least one line, possibly without a function. `names`: the
  // same object in all calls.
  void complete(SourceLines& lines, uint64_t svma, Names& names);
  // The variable at an address, mangled; null if there is none.
  const char* variable_at(uint64_t svma);
  // From the unwind table, see FunctionStarts.
  std::optional<uint64_t> function_start(uint64_t svma);

  bool is_open() const { return files_.main || files_.debug; }
  // What could not be read or found; "" if nothing is missing.
  std::string problem() const;
  // The answers of debug() are complete, and may be cached.
  bool is_whole() const { return debug_ && debug_->missing_splits().count == 0; }

 private:
  void read_symbols(ElfSymbols* symbols);
  // Asks the symbol tables for the function that was compiled at an address if `line` has none, or
  // has a C library's internal name for what a table calls "malloc".
  void improve(SourceLine& line, uint64_t svma, Names& names);
  const char* symbol_at(uint64_t svma);
  const char* stub_at(uint64_t svma);
  const FunctionStarts* starts();  // null if the module's own file is missing

  ModuleFiles files_;
  std::optional<DebugFile> debug_;  // after files_: it is destroyed before them
  std::optional<ElfFile> mini_;
  ElfSymbols symbols_;
  ElfSymbols variables_{ElfSymbols::Of::kData};
  bool symbols_read_ = false, variables_read_ = false;
  std::optional<GoLines> go_;
  std::optional<FunctionStarts> starts_;
  std::optional<PltStubs> stubs_;
  const std::string path_;
  std::string problem_;
};

}  // namespace sampan::symbolizer
