#include "dwarf/function_facts.h"

#include <dwarf.h>

namespace sampan::dwarf {

namespace {

constexpr int kMaxHops = 16;  // references that lead in a circle

Value attribute_of(const DiePlace& place, uint16_t wanted) {
  Value found;
  place.unit->for_each_attribute(place.die, [&](uint16_t name, const Value& value) {
    if (name == wanted && !found) found = value;
  });
  return found;
}

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

}  // namespace sampan::dwarf
