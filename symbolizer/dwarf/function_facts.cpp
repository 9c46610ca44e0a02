#include "symbolizer/dwarf/function_facts.h"

#include <dwarf.h>

#include <algorithm>
#include <string_view>

namespace sampan::dwarf {
namespace {

constexpr int kMaxHops = 16;  // references may form a cycle

Value attribute_of(const DiePlace& place, uint16_t wanted) {
  Value found;
  place.unit->for_each_attribute(place.die, [&](uint16_t name, const Value& value) {
    if (name == wanted && !found) found = value;
  });
  return found;
}

constexpr int kMaxScopeDepth = 64;

}  // namespace

DiePlace origin_of(const DiePlace& function) {
  DiePlace place = function;
  for (int hop = 0; hop < kMaxHops; ++hop) {
    const Value reference = attribute_of(place, DW_AT_abstract_origin);
    const DiePlace next = reference ? follow(*place.file, *place.unit, reference) : DiePlace();
    if (!next) break;
    place = next;
  }
  return place;
}

FunctionFacts describe(const DiePlace& function) {
  FunctionFacts facts;
  facts.origin = function;
  DiePlace place = function;
  for (int hop = 0; place && hop < kMaxHops; ++hop) {
    facts.declaration = place;
    Value name, linkage_name, origin, specification, file, line;
    place.unit->for_each_attribute(place.die, [&](uint16_t attribute, const Value& value) {
      switch (attribute) {
        case DW_AT_name: name = value; break;
        case DW_AT_linkage_name:
        case DW_AT_MIPS_linkage_name: linkage_name = value; break;
        case DW_AT_abstract_origin: origin = value; break;
        case DW_AT_specification: specification = value; break;
        case DW_AT_decl_file: file = value; break;
        case DW_AT_decl_line: line = value; break;
        default: break;
      }
    });
    if (facts.linkage_name == nullptr) facts.linkage_name = place.unit->text(linkage_name);
    if (facts.linkage_name != nullptr && *facts.linkage_name == '\0') facts.linkage_name = nullptr;
    if (facts.name == nullptr) facts.name = place.unit->text(name);
    if (facts.file_unit == nullptr && file) {
      facts.file_unit = place.unit;
      facts.file = file.number;
    }
    if (facts.line == 0 && line.number <= UINT32_MAX) {
      facts.line = static_cast<uint32_t>(line.number);
    }
    const Value& next = origin ? origin : specification;
    if (!next) break;
    place = follow(*place.file, *place.unit, next);
    if (place && origin) facts.origin = place;
  }
  return facts;
}

Scopes::Scopes(const Unit& unit) : unit_(unit) {
  names_.emplace_back();
  if (unit.root().abbrev != nullptr) add_children(unit.root(), 0, 0);
}

template <typename Function>
void Scopes::for_each_child(const Die& parent, Function function) const {
  if (!parent.abbrev->has_children) return;
  uint64_t sibling = 0;
  uint64_t next = unit_.skip_attributes(parent, &sibling);
  Die child;
  while (next != 0 && unit_.read(next, &child) && child.abbrev != nullptr && function(child)) {
    next = unit_.skip(child);
  }
}

void Scopes::add_children(const Die& parent, size_t scope, int depth) {
  for_each_child(parent, [&](const Die& child) {
    switch (child.abbrev->tag) {
      case DW_TAG_namespace:
      case DW_TAG_module: {
        if (depth >= kMaxScopeDepth) break;
        const char* name = name_of(child);
        names_.push_back(joined(names_[scope], name != nullptr ? name : "(anonymous namespace)"));
        add_children(child, names_.size() - 1, depth + 1);
        break;
      }
      case DW_TAG_class_type:
      case DW_TAG_structure_type:
      case DW_TAG_union_type:
      case DW_TAG_enumeration_type: has_classes_ = true; [[fallthrough]];
      case DW_TAG_subprogram: entries_.push_back({child.offset, scope}); break;
      default: break;
    }
    return true;
  });
}

std::string Scopes::enclosing(uint64_t offset, const FullName& full_name) const {
  const auto after = std::ranges::upper_bound(entries_, offset, {}, &Entry::offset);
  if (after == entries_.begin()) return "";
  const Entry& entry = *std::prev(after);
  const std::string& scope = names_[entry.scope];
  Die die;
  if (entry.offset == offset || !unit_.read(entry.offset, &die)) return scope;
  return find_below(die, scope, offset, full_name, 0).value_or("");
}

// The scope of the DIE at `wanted` if it is below `parent`.
std::optional<std::string> Scopes::find_below(const Die& parent, const std::string& outer,
                                              uint64_t wanted, const FullName& full_name,
                                              int depth) const {
  if (depth > kMaxScopeDepth) return std::nullopt;
  std::optional<Die> last;  // the last one that begins at or before `wanted`
  for_each_child(parent, [&](const Die& child) {
    if (child.offset > wanted) return false;
    last = child;
    return true;
  });
  if (!last) return std::nullopt;
  const std::string scope = scope_name(parent, outer, full_name);
  if (last->offset == wanted) return scope;
  return find_below(*last, scope, wanted, full_name, depth + 1);
}

std::string Scopes::scope_name(const Die& die, const std::string& outer,
                               const FullName& full_name) const {
  switch (die.abbrev->tag) {
    case DW_TAG_subprogram:
      if (std::string full = full_name(die); !full.empty()) return full;
      break;
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type:
    case DW_TAG_namespace: break;
    default: return outer;  // lexical blocks
  }
  const char* name = name_of(die);
  return joined(outer, name != nullptr ? name : unnamed_class(die));
}

const char* Scopes::name_of(const Die& die) const {
  Value found;
  unit_.for_each_attribute(die, [&](uint16_t name, const Value& value) {
    if (name == DW_AT_name) found = value;
  });
  return unit_.text(found);
}

// The class of a lambda has no name, and only one member function of interest.
const char* Scopes::unnamed_class(const Die& die) const {
  const char* result = "(anonymous class)";
  for_each_child(die, [&](const Die& member) {
    const char* name = name_of(member);
    if (name != nullptr && std::string_view(name) == "operator()") result = "{lambda}";
    return true;
  });
  return result;
}

std::string joined(const std::string& scope, const std::string& name) {
  return scope.empty() ? name : scope + "::" + name;
}

}  // namespace sampan::dwarf
