// What encloses a function that has no linkage name: "ns::(anonymous namespace)::f",
// "ns::g(int)::{lambda}::operator()". A DIE does not refer to its parent, and to look for it from
// the top of the unit every time is slow; so one pass over a unit notes where its namespaces are.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dwarf/unit.h"

namespace sampan::dwarf {

class Scopes {
 public:
  // The name of a function's DIE that has a linkage name, else "".
  using FullName = std::function<std::string(const Die&)>;

  explicit Scopes(const Unit& unit);
  // Of the DIE at this offset; "" when nothing encloses it, or it is not known what.
  std::string enclosing(uint64_t offset, const FullName& full_name) const;

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
  // Calls function(child) for each until it returns false.
  template <typename Function>
  void for_each_child(const Die& parent, Function function) const;

  const Unit& unit_;
  std::vector<std::string> names_;
  std::vector<Entry> entries_;  // functions and classes in namespaces, by offset
};

std::string joined(const std::string& scope, const std::string& name);

}  // namespace sampan::dwarf
