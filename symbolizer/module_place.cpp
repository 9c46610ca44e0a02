#include "symbolizer/module_place.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "base/other_root.h"
#include "symbolizer/elf_file.h"

namespace sampan::symbolizer {
namespace {

bool is_file_of(const profile::Module& module, const std::string& path) {
  try {
    return std::ranges::equal(ElfFile(path).build_id(), module.build_id);
  } catch (const Error&) {
    return false;
  }
}

std::string place_below(const std::string& sysroot, const profile::Module& module) {
  std::string below = path_below(sysroot, module.path);
  if (below.empty()) below = sysroot + module.path;  // the message says where it was looked for
  if (module.build_id.empty() || is_file_of(module, below)) return below;
  return is_file_of(module, module.path) ? module.path : below;
}

}  // namespace

std::string place_of(const profile::Module& module, const Options& options) {
  for (const Substitute& substitute : options.substitutes) {
    if (substitute.path == module.path && substitute.build_id == module.build_id) {
      return substitute.file;
    }
  }
  const bool is_file = module.path.starts_with('/');
  return is_file && !options.sysroot.empty() ? place_below(options.sysroot, module) : module.path;
}

std::vector<std::string> debug_directories(const Options& options) {
  std::vector<std::string> all;
  for (const std::string& directory : options.debug_directories) {
    if (!options.sysroot.empty()) all.push_back(options.sysroot + directory);
  }
  all.insert(all.end(), options.debug_directories.begin(), options.debug_directories.end());
  return all;
}

}  // namespace sampan::symbolizer
