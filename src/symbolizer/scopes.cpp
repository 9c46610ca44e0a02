#include "symbolizer/scopes.h"

#include <dwarf.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace sampan::symbolizer {

namespace {

constexpr int kMaxDepth = 64;

// The class of a lambda has no name, and one member function that matters.
const char* unnamed_class(Dwarf_Die& die) {
  Dwarf_Die member;
  Dwarf_Off last = 0;
  for (int status = dwarf_child(&die, &member); status == 0;
       status = dwarf_siblingof(&member, &member)) {
    if (dwarf_dieoffset(&member) <= last) break;
    last = dwarf_dieoffset(&member);
    const char* name = dwarf_diename(&member);
    if (name != nullptr && std::string_view(name) == "operator()") return "{lambda}";
  }
  return "(anonymous class)";
}

std::string scope_name(Dwarf_Die& die, const std::string& outer,
                       const Scopes::FullName& full_name) {
  switch (dwarf_tag(&die)) {
    case DW_TAG_subprogram:
      if (std::string full = full_name(die); !full.empty()) return full;
      break;
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_namespace: break;
    default: return outer;  // lexical blocks
  }
  const char* name = dwarf_diename(&die);
  return joined(outer, name != nullptr ? name : unnamed_class(die));
}

// The scope of the DIE at `wanted`, which is below `parent` if anywhere.
std::optional<std::string> find_below(Dwarf_Die& parent, const std::string& outer, Dwarf_Off wanted,
                                      const Scopes::FullName& full_name, int depth) {
  Dwarf_Die child;
  if (depth > kMaxDepth || dwarf_child(&parent, &child) != 0) return std::nullopt;
  const std::string scope = scope_name(parent, outer, full_name);
  // The last child that begins at or before it.
  Dwarf_Die next = child;
  Dwarf_Off last = dwarf_dieoffset(&parent);
  do {
    const Dwarf_Off offset = dwarf_dieoffset(&next);
    if (offset <= last || offset > wanted) break;  // a reference that leads back, or passed it
    last = offset;
    child = next;
  } while (dwarf_siblingof(&child, &next) == 0);
  if (last == wanted) return scope;
  return find_below(child, scope, wanted, full_name, depth + 1);
}

}  // namespace

size_t Scopes::open(std::string full_name) {
  names_.push_back(std::move(full_name));
  return names_.size() - 1;
}

void Scopes::add(const Dwarf_Die& die, size_t scope) {
  Dwarf_Die copy = die;
  entries_.push_back({dwarf_dieoffset(&copy), die, scope});
}

std::string Scopes::enclosing(Dwarf_Off offset, const FullName& full_name) const {
  auto after = std::ranges::upper_bound(entries_, offset, {}, &Entry::offset);
  if (after == entries_.begin()) return "";
  const Entry& entry = *--after;
  const std::string& scope = names_[entry.scope];
  if (entry.offset == offset) return scope;
  Dwarf_Die die = entry.die;
  return find_below(die, scope, offset, full_name, 0).value_or("");
}

std::string joined(const std::string& scope, const std::string& name) {
  return scope.empty() ? name : scope + "::" + name;
}

}  // namespace sampan::symbolizer
