#include "symbolizer/debug_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <utility>

#include "base/error.h"
#include "symbolizer/module_files.h"

namespace sampan::symbolizer {

namespace fs = std::filesystem;

namespace {

fs::path compiled_path(const dwarf::Unit& unit) {
  return unit.directory() != nullptr ? fs::path(unit.directory()) / unit.dwo_name()
                                     : fs::path(unit.dwo_name());
}

}  // namespace

std::string MissingSplits::text() const {
  if (count == 1) return fmt::format("1 .dwo file is missing ({})", first);
  return fmt::format("{} .dwo files are missing (such as {})", count, first);
}

std::string MissingSplits::advice(const std::string& program) {
  return fmt::format(
      "keep .dwo files where the compiler put them or beside the program, or pack them into "
      "{0}.dwp: dwp -e {0}",
      program);
}

DebugFile::DebugFile(const ElfFile& elf, std::string beside,
                     const std::vector<std::string>& debug_directories)
    : elf_(elf), beside_(std::move(beside)), sections_(elf) {
  open_supplementary(debug_directories);
  file_.emplace(sections_.sections, supplementary_file_ ? &*supplementary_file_ : nullptr);
}

// .gnu_debugaltlink contains a path and the build-id of the file.
void DebugFile::open_supplementary(const std::vector<std::string>& debug_directories) {
  const dwarf::Bytes link = sections_.alt_link;
  const auto end = std::ranges::find(link, 0);
  if (end == link.end() || std::next(end) == link.end()) return;
  const std::string name(link.begin(), end);
  const dwarf::Bytes wanted(std::next(end), link.end());
  std::vector<fs::path> places = {fs::path(elf_.path()).parent_path() / name};
  for (const std::string& directory : debug_directories) {
    places.push_back(fs::path(directory) / build_id_path(wanted));
  }
  for (const fs::path& place : places) {
    try {
      supplementary_.emplace(place);
      if (std::ranges::equal(supplementary_->elf.build_id(), wanted)) {
        supplementary_file_.emplace(supplementary_->debug.sections);
        return;
      }
    } catch (const Error&) {
      // Missing or unreadable: try the next place.
    }
    supplementary_.reset();
  }
}

DebugFile::Functions DebugFile::functions_of(const dwarf::Unit& unit) const {
  if (unit.dwo_name() == nullptr) return {&*file_, &unit};
  const std::scoped_lock lock(mutex_);
  const auto [known, is_new] = splits_.try_emplace(&unit);
  if (is_new) known->second = open_split(unit);
  return known->second;
}

MissingSplits DebugFile::missing_splits() const {
  const std::scoped_lock lock(mutex_);
  return missing_splits_;
}

DebugFile::Functions DebugFile::open_split(const dwarf::Unit& unit) const {
  try {
    const dwarf::Unit* split = find_in(sections_, unit);
    if (split == nullptr) split = find_in_package(unit);
    if (split == nullptr) split = open_split_file(unit);
    if (split != nullptr) return {split_units_.back().get(), split};
  } catch (const Error&) {
    // A damaged file counts as missing.
  }
  std::string path = compiled_path(unit);
  if (missing_splits_.count++ == 0 || path < missing_splits_.first) {
    missing_splits_.first = std::move(path);
  }
  return {&*file_, &unit};
}

const dwarf::Unit* DebugFile::find_in(const DebugSections& debug,
                                      const dwarf::Unit& skeleton) const {
  if (debug.split.info.empty()) return nullptr;
  std::optional<dwarf::Sections> sections = debug.split;
  if (!debug.cu_index.empty()) {
    sections = sections_in_package(debug.split, debug.cu_index, skeleton.dwo_id());
  }
  if (!sections) return nullptr;
  split_units_.push_back(std::make_unique<dwarf::File>(*sections, nullptr, &skeleton));
  return split_units_.back()->split_unit(skeleton.dwo_id());
}

const dwarf::Unit* DebugFile::find_in_package(const dwarf::Unit& skeleton) const {
  if (!package_tried_) {
    package_tried_ = true;
    try {
      package_.emplace(beside_ + ".dwp");
    } catch (const Error&) {
      return nullptr;
    }
  }
  return package_ ? find_in(package_->debug, skeleton) : nullptr;
}

// Where the compiler put it, else beside the program.
const dwarf::Unit* DebugFile::open_split_file(const dwarf::Unit& skeleton) const {
  const fs::path compiled = compiled_path(skeleton);
  for (const fs::path& place : {compiled, fs::path(beside_).parent_path() / compiled.filename()}) {
    try {
      split_files_.push_back(std::make_unique<Loaded>(place));
    } catch (const Error&) {
      continue;
    }
    if (const dwarf::Unit* split = find_in(split_files_.back()->debug, skeleton)) return split;
  }
  return nullptr;
}

}  // namespace sampan::symbolizer
