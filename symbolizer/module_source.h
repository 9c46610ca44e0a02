// All that is known about the code of one module: its files, opened, and what they answer.
//
// For one thread at a time, as libelf is, but for debug(), which any number may read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "symbolizer/debug_file.h"
#include "symbolizer/elf_symbols.h"
#include "symbolizer/function_starts.h"
#include "symbolizer/go_lines.h"
#include "symbolizer/module_files.h"
#include "symbolizer/plt_stubs.h"
#include "symbolizer/source_lines.h"

namespace sampan::symbolizer {

class ModuleSource {
 public:
  // Debug information that is compressed is read only up to `inflate_limit` bytes, see
  // symbolizer.h. Never throws for what is wrong with the files.
  ModuleSource(const profile::Module& module, const std::string& path,
               const std::vector<std::string>& debug_directories, uint64_t inflate_limit,
               DebugServer* server);

  // Null where there is none, or none that is to be read.
  const DebugFile* debug() const { return debug_ ? &*debug_ : nullptr; }
  // Completes what debug information knows of an address, be it nothing, by Go's table and the
  // symbol tables. There is a line then, perhaps without a function. `names`: always the same.
  void complete(SourceLines& lines, uint64_t svma, Names& names);
  // By the unwind table, see function_starts.h.
  std::optional<uint64_t> function_start(uint64_t svma);

  bool is_open() const { return files_.main || files_.debug; }
  const std::string& problem() const { return problem_; }

 private:
  void read_symbols();
  // Asks the symbol tables for the function that was compiled at an address, where `line` has none,
  // or has a C library's internal name for what a table knows as "malloc".
  void improve(SourceLine& line, uint64_t svma, Names& names);
  const char* symbol_at(uint64_t svma);
  const char* stub_at(uint64_t svma);
  const FunctionStarts* starts();  // null where the module's own file is not there

  ModuleFiles files_;
  std::optional<DebugFile> debug_;  // after files_: it ends before them
  std::optional<ElfFile> mini_;
  ElfSymbols symbols_;
  bool symbols_read_ = false;
  std::optional<GoLines> go_;
  std::optional<FunctionStarts> starts_;
  std::optional<PltStubs> stubs_;
  std::string problem_;
};

}  // namespace sampan::symbolizer
