#include "symbolizer/module_source.h"

#include <fmt/format.h>

#include <cstring>
#include <string>
#include <utility>

namespace sampan::symbolizer {

ModuleSource::ModuleSource(const profile::Module& module, const std::string& path,
                           const std::vector<std::string>& debug_directories,
                           uint64_t inflate_limit)
    : files_(find_files(module, path, debug_directories)) {
  if (!files_.main && !files_.debug) problem_ = files_.problem;
  const ElfFile* file = files_.with_debug_info();
  if (file == nullptr || file->inflated_bytes() > inflate_limit) return;
  cheap_ = file->inflated_bytes() == 0;
  dwarf_.reset(dwarf_begin_elf(file->handle(), DWARF_C_READ, nullptr));
  if (dwarf_ == nullptr) {
    problem_ = fmt::format("its debug information cannot be read ({}), names are from its symbols",
                           dwarf_errmsg(-1));
  }
}

std::vector<UnitAddresses> ModuleSource::units(std::span<const uint64_t> svmas) {
  if (dwarf_ == nullptr) return {};
  return group_by_unit(dwarf_.get(), svmas);
}

bool ModuleSource::resolve(const UnitAddresses& unit, Names& names, LinesByAddress& lines) {
  return dwarf_ != nullptr && resolve_unit(dwarf_.get(), unit, names, lines);
}

const char* ModuleSource::symbol_at(uint64_t svma) {
  if (!symbols_read_) {
    symbols_read_ = true;
    const bool is_all = files_.debug && symbols_.add(*files_.debug);
    if (files_.main && !is_all) symbols_.add(*files_.main);
    symbols_.sort();
  }
  const ElfSymbols::Found found = symbols_.find(svma);
  // Behind a function whose size is not known there may be others, with no symbol.
  if (!found.has_size && function_start(svma).value_or(0) > found.begin) return nullptr;
  return found.name;
}

void ModuleSource::improve(SourceLine& line, uint64_t svma, Names& names) {
  const SourceFunction* known = line.function;
  const bool is_named = known != nullptr && !known->name.empty();
  if (is_named && !known->name.starts_with("__")) return;
  SourceFunction function;
  if (const char* symbol = symbol_at(svma)) {
    if (is_named && (symbol[0] == '_' || strchr(symbol, '.') != nullptr)) return;
    // "write@@GLIBC_2.2.5": the version is the linker's, not the programmer's.
    const std::string text = symbol;
    function.name = names.demangled(text.substr(0, text.find('@')).c_str());
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

std::optional<uint64_t> ModuleSource::function_start(uint64_t svma) {
  if (!files_.main) return std::nullopt;
  if (!starts_) starts_.emplace(*files_.main);
  const auto range = starts_->range(svma);
  return range ? std::optional(range->begin) : std::nullopt;
}

}  // namespace sampan::symbolizer
