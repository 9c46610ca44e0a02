#include "symbolizer/missing_names.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "base/start_program.h"
#include "symbolizer/debug_file.h"
#include "symbolizer/dwarf/file.h"
#include "symbolizer/elf_functions.h"
#include "symbolizer/module_files.h"
#include "symbolizer/module_place.h"
#include "symbolizer/symbolizer.h"

namespace sampan::symbolizer {
namespace {

constexpr size_t kMaxOutput = size_t{16} << 20;  // the names of all packages are 2 MB

// What a program prints; "" if it is not installed. Its exit status does not count: dpkg-query
// fails when one of several files belongs to no package.
std::string output_of(const std::vector<std::string>& words) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "";
  FileDescriptor from(ends[0]), to(ends[1]);
  pid_t pid = 0;
  try {
    pid = start_program(words[0], words, {.out = to.get()});
  } catch (const Error&) {
    return "";
  }
  to.reset();
  std::string output;
  char buffer[1 << 16];
  while (output.size() < kMaxOutput) {
    const ssize_t size = read(from.get(), buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    output.append(buffer, static_cast<size_t>(size));
  }
  from.reset();  // what it has more to say ends it
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return output;
}

// /lib is a link to /usr/lib, and packages have either path.
std::string other_name(const std::string& path) {
  constexpr std::string_view kUsr = "/usr";
  return path.starts_with("/usr/") ? path.substr(kUsr.size()) : std::string(kUsr) + path;
}

// Reads lines "libc6:amd64: /lib/x86_64-linux-gnu/libc.so.6" (dpkg-query(1), --search).
std::map<std::string, std::string> packages_of(const std::vector<std::string>& paths) {
  std::vector<std::string> words = {"dpkg-query", "--search"};
  for (const std::string& path : paths) {
    // dpkg-query takes others for patterns.
    if (!path.starts_with('/') || path.find_first_of("*?[\\") != path.npos) continue;
    words.push_back(path);
    words.push_back(other_name(path));
  }
  std::map<std::string, std::string> packages;
  std::istringstream lines(words.size() > 2 ? output_of(words) : "");
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(": ");
    if (colon == line.npos || line.starts_with("diversion ")) continue;
    packages[line.substr(colon + 2)] = line.substr(0, line.find_first_of(":,"));
  }
  return packages;
}

// The source packages of binary packages.
std::map<std::string, std::string> sources_of(const std::map<std::string, std::string>& packages) {
  std::set<std::string> names;
  for (const auto& [path, package] : packages) names.insert(package);
  std::vector<std::string> words = {"dpkg-query", "--show",
                                    "--showformat=${Package} ${source:Package}\n"};
  words.insert(words.end(), names.begin(), names.end());
  std::map<std::string, std::string> sources;
  std::istringstream lines(names.empty() ? "" : output_of(words));
  for (std::string package, source; lines >> package >> source;) sources[package] = source;
  return sources;
}

std::set<std::string> names_known_to_apt() {
  std::set<std::string> names;
  std::istringstream lines(output_of({"apt-cache", "pkgnames"}));
  for (std::string name; std::getline(lines, name);) {
    if (name.ends_with("-dbg")) names.insert(name);
  }
  return names;
}

// Where a debug file of the module would be found.
std::string debug_file_places(const profile::Module& module, const ModuleFiles& files,
                              const std::vector<std::string>& directories) {
  std::vector<std::string> places;
  if (const std::string name = build_id_path(module.build_id); !name.empty()) {
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

MissingSplits missing_splits(const ModuleFile& module, const ElfFile& elf,
                             const std::vector<std::string>& directories) {
  try {
    const DebugFile debug(elf, module.file, directories);
    if (module.svmas.empty()) {
      for (const uint64_t offset : debug.file().unit_offsets()) {
        if (const dwarf::Unit* const unit = debug.file().unit_at(offset)) debug.functions_of(*unit);
      }
    } else {
      std::vector<uint64_t> svmas = module.svmas;
      std::ranges::sort(svmas);
      for (const auto& unit : dwarf::group_by_unit(debug.file(), svmas)) {
        debug.functions_of(*unit.unit);
      }
    }
    return debug.missing_splits();
  } catch (const Error&) {
    return {};  // damaged debug information is symbolize()'s to report
  }
}

MissingNames missing_names_of(const ModuleFile& module, const std::string& package,
                              const std::vector<std::string>& directories) {
  const ModuleFiles files = find_files(module.module, module.file, directories);
  MissingNames result;
  if (const ElfFile* const file = files.with_debug_info()) {
    const bool own = files.main && file == &*files.main;
    result.verdict = own ? "debug information" : "debug information in " + file->path();
    const MissingSplits splits = missing_splits(module, *file, directories);
    result.lacks_splits = splits.count != 0;
    result.complete = !result.lacks_splits;
    if (result.lacks_splits) {
      result.verdict += ", but " + splits.text();
      result.advice = MissingSplits::advice(module.file);
    }
    return result;
  }
  if (!files.main) {
    result.verdict = "no names: " + files.problem;
    result.advice = "`sampan symbolize` where that file is writes its names into the recording";
    return result;
  }
  ElfSymbols symbols;
  result.verdict = symbols.add(*files.main)
                       ? "function names only, no lines and inlines"
                       : "stripped: names of exported functions only, no lines and inlines";
  result.package = package;
  const std::string places = debug_file_places(module.module, files, directories);
  result.advice = !package.empty() ? fmt::format("install {}", package)
                                   : "compile it with -g and do not strip it";
  if (!places.empty()) result.advice += "; looked in " + places;
  return result;
}

}  // namespace

std::map<std::string, std::string> debug_packages(const std::vector<std::string>& paths) {
  const std::map<std::string, std::string> packages = packages_of(paths);
  if (packages.empty()) return {};
  std::map<std::string, std::string> sources = sources_of(packages);
  const std::set<std::string> known = names_known_to_apt();
  std::map<std::string, std::string> result;
  for (const std::string& path : paths) {
    auto package = packages.find(path);
    if (package == packages.end()) package = packages.find(other_name(path));
    if (package == packages.end()) continue;
    // A few packages have a -dbg package made by hand, or share one of their source package, as
    // those of openjdk-17 do; Debian makes -dbgsym for the others.
    const std::string own = package->second + "-dbg", common = sources[package->second] + "-dbg";
    result[path] = known.contains(own)      ? own
                   : known.contains(common) ? common
                                            : package->second + "-dbgsym";
  }
  return result;
}

std::vector<MissingNames> missing_names(const std::vector<ModuleFile>& modules,
                                        const Options& where) {
  std::vector<std::string> paths;
  for (const ModuleFile& module : modules) paths.push_back(module.module.path);
  const std::map<std::string, std::string> packages = debug_packages(paths);
  const std::vector<std::string> directories = debug_directories(where);
  std::vector<MissingNames> results;
  for (const ModuleFile& module : modules) {
    const auto package = packages.find(module.module.path);
    results.push_back(missing_names_of(
        module, package != packages.end() ? package->second : std::string(), directories));
  }
  return results;
}

}  // namespace sampan::symbolizer
