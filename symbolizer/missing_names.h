// What modules lack for names, lines and inlined functions, and what would supply them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profile/profile.h"
#include "symbolizer/symbolizer.h"

namespace sampan::symbolizer {

struct ModuleFile {
  profile::Module module;
  std::string file;                  // where it can be opened
  std::vector<uint64_t> svmas = {};  // the code that counts; empty: all of it
};

struct MissingNames {
  bool complete = false;      // it has all debug information
  bool lacks_splits = false;  // it has debug information, but not all of its .dwo files
  std::string verdict;        // one clause
  std::string advice = {};    // "" where there is nothing to do
  std::string package = {};   // the package with its debug information; "": unknown or not needed
};

// One row for each module, in their order. `where`: its directories, and its sysroot.
std::vector<MissingNames> missing_names(const std::vector<ModuleFile>& modules,
                                        const Options& where = {});

// The packages of the distribution with the debug information of files, by path, for the files that
// a package installed: "libc6-dbg", or "liblzma5-dbgsym", which is in the archive of debug symbols.
// Runs Debian's dpkg-query and apt-cache, once for all paths; elsewhere no package is known.
std::map<std::string, std::string> debug_packages(const std::vector<std::string>& paths);

}  // namespace sampan::symbolizer
