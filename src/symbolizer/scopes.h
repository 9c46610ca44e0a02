// What encloses a function that has no linkage name: "ns::(anonymous namespace)::f",
// "ns::g(int)::<lambda(int)>::operator()". libdw knows no parent of a DIE, and to look for it from
// the top of the unit every time is slow; so the walk over a unit notes what it passes.
#pragma once

#include <elfutils/libdw.h>

#include <functional>
#include <string>
#include <vector>

namespace sampan::symbolizer {

class Scopes {
 public:
  // The name of a function's DIE that has a linkage name, else "".
  using FullName = std::function<std::string(Dwarf_Die&)>;

  // A namespace; "" is the unit. Returns its number, for add().
  size_t open(std::string full_name);
  // A function or class in that namespace. Call in the order of the unit.
  void add(const Dwarf_Die& die, size_t scope);

  // Of the DIE at this offset; "" when nothing encloses it, or it is not known what.
  std::string enclosing(Dwarf_Off offset, const FullName& full_name) const;

 private:
  struct Entry {
    Dwarf_Off offset;
    Dwarf_Die die;
    size_t scope;
  };
  std::vector<std::string> names_;
  std::vector<Entry> entries_;  // by offset
};

std::string joined(const std::string& scope, const std::string& name);

}  // namespace sampan::symbolizer
