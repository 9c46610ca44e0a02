// What modules lack for names, lines and inlined functions, and what would give them: the part of
// `sampan doctor` about symbols.
#pragma once

#include <string>
#include <vector>

#include "profile/profile.h"

namespace sampan::cli {

struct ModuleNames {
  bool good = false;  // it has debug information
  std::string verdict;
  std::string advice;   // "" where there is nothing to do
  std::string package;  // that has its debug information; "" not known, or not needed
};

struct ModuleFile {
  profile::Module module;
  std::string file;  // where it can be opened
};

// Of each, in their order.
std::vector<ModuleNames> look_for_names(const std::vector<ModuleFile>& modules);

// What a recording lacks: a page, or the same as data.
int examine_recording(const std::string& path, bool json);

}  // namespace sampan::cli
