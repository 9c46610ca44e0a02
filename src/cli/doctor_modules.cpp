#include "cli/doctor_modules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <optional>

#include "cli/debug_packages.h"
#include "symbolizer/elf_symbols.h"
#include "symbolizer/module_files.h"
#include "symbolizer/symbolizer.h"

namespace sampan::cli {
namespace {

// Where its debug file may be put.
std::string places_of(const profile::Module& module, const symbolizer::ModuleFiles& files,
                      const std::vector<std::string>& directories) {
  std::vector<std::string> places;
  if (const std::string name = symbolizer::build_id_path(module.build_id); !name.empty()) {
    for (const std::string& directory : directories) {
      places.push_back(fmt::format("{}/{}", directory, name));
    }
  }
  if (const auto link = files.main ? files.main->debug_link() : std::nullopt) {
    places.push_back(fmt::format("{} (beside it, in .debug/, under {})", link->name,
                                 fmt::join(directories, ", ")));
  }
  return fmt::format("{}", fmt::join(places, ", "));
}

ModuleNames look_for_names(const ModuleFile& module, const std::string& package) {
  const std::vector<std::string> directories = symbolizer::Options().debug_directories;
  const symbolizer::ModuleFiles files =
      symbolizer::find_files(module.module, module.file, directories);
  ModuleNames result;
  if (const symbolizer::ElfFile* const file = files.with_debug_info()) {
    const bool own = files.main && file == &*files.main;
    result.good = true;
    result.verdict = own ? "debug information" : "debug information in " + file->path();
    return result;
  }
  if (!files.main) {
    result.verdict = "no names: " + files.problem;
    result.advice = "`sampan symbolize` where that file is writes its names into the recording";
    return result;
  }
  symbolizer::ElfSymbols symbols;
  result.verdict = symbols.add(*files.main)
                       ? "function names only, no lines and inlines"
                       : "stripped: names of exported functions only, no lines and inlines";
  result.package = package;
  const std::string places = places_of(module.module, files, directories);
  result.advice = !package.empty() ? fmt::format("install {}", package)
                                   : "compile it with -g and do not strip it";
  if (!places.empty()) result.advice += "; looked in " + places;
  return result;
}

}  // namespace

std::vector<ModuleNames> look_for_names(const std::vector<ModuleFile>& modules) {
  std::vector<std::string> paths;
  for (const ModuleFile& module : modules) paths.push_back(module.module.path);
  const std::map<std::string, std::string> packages = debug_packages(paths);
  std::vector<ModuleNames> results;
  for (const ModuleFile& module : modules) {
    const auto package = packages.find(module.module.path);
    results.push_back(
        look_for_names(module, package != packages.end() ? package->second : std::string()));
  }
  return results;
}

}  // namespace sampan::cli
