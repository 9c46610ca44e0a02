#include "symbolizer/module_source.h"

#include <fmt/format.h>

#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/text/function_name.h"
#include "symbolizer/demangle.h"

namespace sampan::symbolizer {

namespace {

// "(anonymous namespace)::Parser::next" for the name "next", with the scope of its symbol.
std::string with_scope(const std::string& name, std::string_view symbol) {
  const std::string full = short_name(demangle(std::string(without_clone_suffix(symbol)).c_str()));
  const std::string bare = short_name(name);  // it may have template arguments
  return full.ends_with("::" + bare) ? full.substr(0, full.size() - bare.size()) + name : name;
}

}  // namespace

ModuleSource::ModuleSource(const profile::Module& module, const std::string& path,
                           const std::vector<std::string>& debug_directories,
                           uint64_t inflate_limit, DebugServer* server)
    : files_(find_files(module, path, debug_directories, server)), path_(path) {
  if (!files_.main && !files_.debug) problem_ = files_.problem;
  if (files_.main) {
    if (const auto table = GoTable::of(*files_.main)) go_.emplace(*table);
  }
  const ElfFile* file = files_.with_debug_info();
  if (file == nullptr || inflated_bytes(*file) > inflate_limit) return;
  try {
    debug_.emplace(*file, path, debug_directories);
  } catch (const Error& error) {
    problem_ = fmt::format("{}, names are from its symbols", error.what());
  }
}

std::string ModuleSource::problem() const {
  if (!problem_.empty() || !debug_) return problem_;
  const MissingSplits missing = debug_->missing_splits();
  if (missing.count == 0) return "";
  return fmt::format("{}: their functions are named by symbols, without inlined ones; {}",
                     missing.text(), MissingSplits::advice(path_));
}

void ModuleSource::read_symbols(ElfSymbols* symbols) {
  const bool is_all = files_.debug && symbols->add(*files_.debug);
  if (files_.main && !is_all) {
    try {
      if (!symbols->add(*files_.main) && !mini_) mini_ = mini_debug_info(*files_.main);
    } catch (const Error& error) {
      problem_ = error.what();
    }
    if (mini_) symbols->add(*mini_);
  }
  symbols->sort();
}

const char* ModuleSource::symbol_at(uint64_t svma) {
  if (!std::exchange(symbols_read_, true)) read_symbols(&symbols_);
  const ElfSymbols::Found found = symbols_.find(svma);
  // A function of unknown size may be followed by others without a symbol.
  if (found.name != nullptr && !found.has_size && starts() != nullptr) {
    const auto last = starts()->last_range(svma);
    if (last && last->begin > found.begin) return nullptr;
  }
  return found.name;
}

const char* ModuleSource::variable_at(uint64_t svma) {
  if (!std::exchange(variables_read_, true)) read_symbols(&variables_);
  return variables_.find(svma).name;
}

void ModuleSource::complete(SourceLines& lines, uint64_t svma, Names& names) {
  if (lines.empty() && go_) lines = go_->at(svma, names);
  if (lines.empty()) lines.emplace_back();
  improve(lines.back(), svma, names);
}

void ModuleSource::improve(SourceLine& line, uint64_t svma, Names& names) {
  const SourceFunction* known = line.function;
  const bool is_named = known != nullptr && !known->name.empty();
  const bool wants_linkage_name = is_named && names.linkage_names() && known->is_local;
  const bool lacks_scope = is_named && known->lacks_scope && !names.linkage_names();
  if (is_named && !known->name.starts_with("__") && !wants_linkage_name && !lacks_scope) return;
  SourceFunction function;
  if (const char* symbol = symbol_at(svma)) {
    if (lacks_scope) {
      function = *known;
      function.name = with_scope(known->name, symbol);
      line.function = names.add(std::move(function));
      return;
    }
    if (is_named && !wants_linkage_name && (symbol[0] == '_' || strchr(symbol, '.') != nullptr))
      return;
    // "write@@GLIBC_2.2.5": the version is the linker's, not the programmer's.
    const std::string_view all = symbol;
    std::string_view plain = all.substr(0, all.find('@'));
    // Go names a function "cold" of package main "main.cold".
    if (!names.linkage_names() && !go_) plain = without_clone_suffix(plain);
    function.name =
        plain == all ? names.demangled(symbol) : names.demangled_copy(std::string(plain));
  } else if (const char* stub = is_named ? nullptr : stub_at(svma)) {
    function.name = names.demangled(stub) + "@plt";
  } else {
    return;
  }
  function.file = known != nullptr ? known->file : line.file;
  function.line = known != nullptr ? known->line : 0;
  line.function = names.add(std::move(function));
}

const char* ModuleSource::stub_at(uint64_t svma) {
  if (!files_.main) return nullptr;
  if (!stubs_) stubs_.emplace(*files_.main);
  return stubs_->find(svma);
}

const FunctionStarts* ModuleSource::starts() {
  if (files_.main && !starts_) starts_.emplace(*files_.main);
  return starts_ ? &*starts_ : nullptr;
}

std::optional<uint64_t> ModuleSource::function_start(uint64_t svma) {
  if (starts() == nullptr) return std::nullopt;
  const auto range = starts()->range(svma);
  return range ? std::optional(range->begin) : std::nullopt;
}

}  // namespace sampan::symbolizer
