// The debug information of one file, including what is kept elsewhere: the file that dwz moved
// common parts to, and the .dwo files or the .dwp file of code compiled with -gsplit-dwarf.
//
// Any number of threads may use one DebugFile.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "symbolizer/debug_sections.h"
#include "symbolizer/dwarf/file.h"
#include "symbolizer/elf_file.h"

namespace sampan::symbolizer {

// Split units that were needed and not found.
struct MissingSplits {
  size_t count = 0;
  std::string first;  // as compiled; the first in alphabetical order

  // "2 .dwo files are missing (such as /build/a.dwo)"
  std::string text() const;
  // How to supply them. `program`: the path of the file that ran.
  static std::string advice(const std::string& program);
};

class DebugFile {
 public:
  // `elf` must outlive this object. `beside`: the program; its .dwp file would be beside it. Throws
  // Error, without the path, if the sections cannot be read.
  DebugFile(const ElfFile& elf, std::string beside,
            const std::vector<std::string>& debug_directories);

  const dwarf::File& file() const { return *file_; }
  // The file and unit with the functions of a unit: the unit itself, or its split unit if it has
  // one that can be found.
  struct Functions {
    const dwarf::File* file;
    const dwarf::Unit* unit;
  };
  Functions functions_of(const dwarf::Unit& unit) const;
  // The split units that functions_of() did not find.
  MissingSplits missing_splits() const;

 private:
  struct Loaded {
    explicit Loaded(const std::string& path) : elf(path), debug(elf) {}
    ElfFile elf;
    DebugSections debug;
  };
  using Splits = std::map<const dwarf::Unit*, Functions>;

  void open_supplementary(const std::vector<std::string>& debug_directories);
  Functions open_split(const dwarf::Unit& unit) const;
  // Each returns the split unit of a skeleton, and null if it is not there. Its file is the last one
  // of split_units_.
  const dwarf::Unit* find_in(const DebugSections& debug, const dwarf::Unit& skeleton) const;
  const dwarf::Unit* find_in_package(const dwarf::Unit& skeleton) const;
  const dwarf::Unit* open_split_file(const dwarf::Unit& skeleton) const;

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
  mutable MissingSplits missing_splits_;
};

}  // namespace sampan::symbolizer
