// What DIEs say about a function. The DIE of a compiled or inlined copy refers to the abstract
// function, and that one to its declaration, which may be in another unit or file. The nearest DIE
// that has an attribute wins.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "symbolizer/dwarf/file.h"
#include "symbolizer/dwarf/unit.h"

namespace sampan::dwarf {

struct FunctionFacts {
  const char* linkage_name = nullptr;
  const char* name = nullptr;       // unqualified, as written in the source
  const Unit* file_unit = nullptr;  // the unit whose line table numbers `file`
  uint64_t file = 0;
  uint32_t line = 0;     // of its declaration, 0 unknown
  DiePlace origin;       // the DIE that all inlined and compiled copies refer to
  DiePlace declaration;  // its declaration, whose parents are the function's scope
};

// The DIE that all copies of a function refer to; the DIE itself if it refers to none.
DiePlace origin_of(const DiePlace& function);

FunctionFacts describe(const DiePlace& function);

// The scope of a function without a linkage name: "ns::(anonymous namespace)::f",
// "ns::g(int)::{lambda}::operator()". A DIE does not refer to its parent, and a search from the top
// of the unit for each function is slow, so one pass over the unit notes where its namespaces are.
class Scopes {
 public:
  // The full name of a function's DIE if it has a linkage name, else "".
  using FullName = std::function<std::string(const Die&)>;

  explicit Scopes(const Unit& unit);
  // The scope of the DIE at `offset`; "" if it has none, or it is unknown.
  std::string enclosing(uint64_t offset, const FullName& full_name) const;
  // Whether the unit has namespaces or classes. With -g1 it has none, whatever its source has.
  bool any() const { return names_.size() > 1 || has_classes_; }

 private:
  struct Entry {
    uint64_t offset;
    size_t scope;
  };

  void add_children(const Die& parent, size_t scope, int depth);
  std::optional<std::string> find_below(const Die& parent, const std::string& outer,
                                        uint64_t wanted, const FullName& full_name,
                                        int depth) const;
  std::string scope_name(const Die& die, const std::string& outer, const FullName& full_name) const;
  const char* name_of(const Die& die) const;
  const char* unnamed_class(const Die& die) const;
  // Calls function(child) for each child until it returns false.
  template <typename Function>
  void for_each_child(const Die& parent, Function function) const;

  const Unit& unit_;
  std::vector<std::string> names_;
  bool has_classes_ = false;
  std::vector<Entry> entries_;  // functions and classes in namespaces, by offset
};

std::string joined(const std::string& scope, const std::string& name);

}  // namespace sampan::dwarf
