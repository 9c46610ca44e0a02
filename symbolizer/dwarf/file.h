// The debug information of one file: its units, opened when they are first needed.
//
// Any number of threads may use one File. The sections it was made of, and the supplementary file
// (dwz), must outlive it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "symbolizer/dwarf/sections.h"
#include "symbolizer/dwarf/unit.h"

namespace sampan::dwarf {

class File {
 public:
  // `skeleton`: given when the sections are those of a split unit, which refers to the skeleton's
  // tables.
  explicit File(const Sections& sections, const File* supplementary = nullptr,
                const Unit* skeleton = nullptr);

  const Sections& sections() const { return sections_; }
  const File* supplementary() const { return supplementary_; }
  // Units with code, in order; type units and partial units are left out.
  std::vector<uint64_t> unit_offsets() const;
  // The unit whose header is at `offset`; null if there is none.
  const Unit* unit_at(uint64_t offset) const;
  // The unit that contains `offset`; null if there is none.
  const Unit* unit_around(uint64_t offset) const;
  // The unit of a split file that belongs to a skeleton; null if there is none.
  const Unit* split_unit(uint64_t dwo_id) const;

 private:
  const Unit* opened(const UnitHeader& header) const;

  const Sections sections_;
  const File* supplementary_;
  const Unit* skeleton_;
  std::vector<UnitHeader> headers_;  // by offset

  mutable std::mutex mutex_;
  mutable std::unordered_map<uint64_t, std::unique_ptr<Unit>> units_;
  mutable std::map<std::tuple<uint64_t, Encoding>, std::shared_ptr<const Abbreviations>>
      abbreviations_;
};

// A DIE with its unit and file: the target of a reference.
struct DiePlace {
  const File* file = nullptr;
  const Unit* unit = nullptr;
  Die die;
  explicit operator bool() const { return unit != nullptr; }
};

// The target of a reference in a unit of `file`; empty when the reference is invalid.
DiePlace follow(const File& file, const Unit& unit, const Value& reference);

// The compilation unit that contains an address: from .debug_aranges where the compiler wrote it
// (gcc does, clang does not), else from the ranges of each unit's root DIE. Nothing else of a unit
// is read.

struct UnitAddresses {
  const Unit* unit = nullptr;
  std::vector<uint64_t> svmas;  // ascending
};

// `svmas`: ascending. Addresses without a unit are left out.
std::vector<UnitAddresses> group_by_unit(const File& file, std::span<const uint64_t> svmas);

}  // namespace sampan::dwarf
