// The debug information of one file, with what it keeps elsewhere: the file that dwz moved common
// parts to, and the .dwo files or the .dwp file of what was compiled with -gsplit-dwarf.
//
// Any number of threads may ask at once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "dwarf/file.h"
#include "symbolizer/debug_sections.h"
#include "symbolizer/elf_file.h"

namespace sampan::symbolizer {

class DebugFile {
 public:
  // `elf` must outlive this object. `beside`: the program, where its .dwp file would be. Throws
  // Error, without the path, where the sections cannot be read.
  DebugFile(const ElfFile& elf, std::string beside,
            const std::vector<std::string>& debug_directories);

  const dwarf::File& file() const { return *file_; }
  // The file and the unit that hold the functions of a unit: itself, unless it was split. Itself,
  // too, where the split one is not to be found.
  struct Functions {
    const dwarf::File* file;
    const dwarf::Unit* unit;
  };
  Functions functions_of(const dwarf::Unit& unit) const;
  // How many split units were needed and not found.
  size_t missing_splits() const;

 private:
  struct Loaded {
    explicit Loaded(const std::string& path) : elf(path), debug(elf) {}
    ElfFile elf;
    DebugSections debug;
  };
  using Splits = std::map<const dwarf::Unit*, Functions>;

  void open_supplementary(const std::vector<std::string>& debug_directories);
  Functions open_split(const dwarf::Unit& unit) const;
  const dwarf::Unit* open_split_file(const dwarf::Unit& unit) const;
  const dwarf::Unit* find_in_package(const dwarf::Unit& unit) const;

  const ElfFile& elf_;
  const std::string beside_;
  DebugSections sections_;
  std::optional<Loaded> supplementary_;
  std::optional<dwarf::File> supplementary_file_;
  std::optional<dwarf::File> file_;

  mutable std::mutex mutex_;
  mutable bool package_tried_ = false;
  mutable std::optional<Loaded> package_;
  mutable std::vector<std::unique_ptr<Loaded>> split_files_;
  mutable std::vector<std::unique_ptr<dwarf::File>> split_units_;
  mutable Splits splits_;
  mutable size_t missing_splits_ = 0;
};

}  // namespace sampan::symbolizer
