// The debug information of one file: its units, opened when they are first needed.
//
// Any number of threads may ask at once. A File refers to the sections it was made of, and to the
// file that it shares parts with (dwz), which outlive it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "dwarf/sections.h"
#include "dwarf/unit.h"

namespace sampan::dwarf {

class File {
 public:
  // `skeleton` when the sections are those of a split unit, and refer to the skeleton's tables.
  explicit File(const Sections& sections, const File* supplementary = nullptr,
                const Unit* skeleton = nullptr);

  const Sections& sections() const { return sections_; }
  const File* supplementary() const { return supplementary_; }
  // Those that hold code, in order; types and parts of units are left out.
  std::vector<uint64_t> unit_offsets() const;
  // The unit whose header is there; null where there is none.
  const Unit* unit_at(uint64_t offset) const;
  // The unit around an offset; null where there is none.
  const Unit* unit_around(uint64_t offset) const;
  // The unit that a split file holds of a skeleton; null without one.
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

// A DIE somewhere: what references lead to.
struct DiePlace {
  const File* file = nullptr;
  const Unit* unit = nullptr;
  Die die;
  explicit operator bool() const { return unit != nullptr; }
};

// Where a reference in a unit of `file` leads; nowhere when it makes no sense.
DiePlace follow(const File& file, const Unit& unit, const Value& reference);

}  // namespace sampan::dwarf
