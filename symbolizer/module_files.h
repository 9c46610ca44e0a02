// Finds the files with a module's names: the module itself, and its separate debug file.
//
// The recorded build-id decides: a file with another one is never used. Debug files are searched as
// gdb does ("Debugging Information in Separate Files"): DIRECTORY/.build-id/xx/yyyy.debug; then, by
// the name in .gnu_debuglink, beside the module, in its .debug/, and in DIRECTORY under the
// module's own directory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "profile/profile.h"
#include "symbolizer/debug_server.h"
#include "symbolizer/elf_file.h"

namespace sampan::symbolizer {

struct ModuleFiles {
  std::optional<ElfFile> main;
  std::optional<ElfFile> debug;  // only if main has no debug information of its own
  std::string problem;           // why there is no main

  const ElfFile* with_debug_info() const;
};

// The path of a separate debug file in a debug directory: ".build-id/xx/yyyy.debug"; "" without a
// build-id.
std::string build_id_path(std::span<const uint8_t> id);

// `file`: what is opened as the module, usually its path. `server`: asked last; may be null.
ModuleFiles find_files(const profile::Module& module, const std::string& file,
                       const std::vector<std::string>& debug_directories,
                       DebugServer* server = nullptr);

}  // namespace sampan::symbolizer
