#include "symbolizer/unit_lines.h"

#include <dwarf.h>

#include <string>

#include "symbolizer/line_table.h"

namespace sampan::symbolizer {

namespace {

class UnitFunctionNames {
 public:
  UnitFunctionNames(Names& names, const Scopes& scopes) : names_(names), scopes_(scopes) {}

  const SourceFunction* function(Dwarf_Die& die) {
    Dwarf_Die origin = origin_of(die);
    const SourceFunction*& known = known_[origin.addr];
    if (known == nullptr) {
      const SourcePlace place = declaration(die);
      known = names_.add({name(die, origin), names_.file(place), place.line});
    }
    return known;
  }

 private:
  // All inlined and out-of-line copies of a function refer to one DIE.
  static Dwarf_Die origin_of(Dwarf_Die& die) {
    Dwarf_Attribute attribute;
    Dwarf_Die origin;
    if (dwarf_attr(&die, DW_AT_abstract_origin, &attribute) == nullptr ||
        dwarf_formref_die(&attribute, &origin) == nullptr) {
      return die;
    }
    return origin;
  }

  std::string name(Dwarf_Die& die, Dwarf_Die& origin) {
    if (std::string full = linkage_name(die); !full.empty()) return full;
    const char* plain = dwarf_diename(&die);  // follows the origin
    if (plain == nullptr) return "";
    return joined(origin.cu == die.cu ? scope_of(origin) : "", plain);
  }

  std::string linkage_name(Dwarf_Die& die) {
    for (const unsigned which : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
      Dwarf_Attribute attribute;
      if (dwarf_attr_integrate(&die, which, &attribute) == nullptr) continue;
      const char* mangled = dwarf_formstring(&attribute);
      if (mangled != nullptr && *mangled != '\0') return names_.demangled(mangled);
    }
    return "";
  }

  // A member function is declared where it belongs, and defined elsewhere.
  std::string scope_of(Dwarf_Die origin) {
    Dwarf_Attribute attribute;
    Dwarf_Die specification;
    if (dwarf_attr(&origin, DW_AT_specification, &attribute) != nullptr &&
        dwarf_formref_die(&attribute, &specification) != nullptr) {
      origin = specification;
    }
    return scopes_.enclosing(dwarf_dieoffset(&origin),
                             [this](Dwarf_Die& function) { return linkage_name(function); });
  }

  Names& names_;
  const Scopes& scopes_;
  std::unordered_map<const void*, const SourceFunction*> known_;
};

// Of split DWARF, the functions are in the .dwo file, which libdw finds where it can.
Dwarf_Die die_with_functions(Dwarf_Die unit) {
  Dwarf_Die split{};
  if (dwarf_cu_info(unit.cu, nullptr, nullptr, nullptr, &split, nullptr, nullptr, nullptr) == 0 &&
      split.addr != nullptr) {
    return split;
  }
  return unit;
}

}  // namespace

bool resolve_unit(Dwarf* dwarf, const UnitAddresses& wanted, Names& names, LinesByAddress& lines) {
  Dwarf_Die unit;
  if (dwarf_offdie(dwarf, wanted.unit, &unit) == nullptr) return false;
  Dwarf_Die root = die_with_functions(unit);
  UnitFunctions found = find_functions(root, wanted.svmas);
  UnitFunctionNames functions(names, found.scopes);
  LineTable table(unit);
  for (const uint64_t svma : wanted.svmas) {
    SourceLines result;
    SourcePlace place = table.find(svma);
    const auto chain = found.chains.find(svma);
    if (chain != found.chains.end()) {
      for (auto die = chain->second.rbegin(); die != chain->second.rend(); ++die) {
        result.push_back({functions.function(*die), names.file(place), place.line});
        if (dwarf_tag(&*die) == DW_TAG_inlined_subroutine) place = table.call_site(*die);
      }
    } else if (place.file != nullptr) {
      result.push_back({nullptr, names.file(place), place.line});
    }
    if (!result.empty()) lines[svma] = std::move(result);
  }
  return !found.damaged;
}

}  // namespace sampan::symbolizer
