#include "symbolizer/inline_chains.h"

#include <dwarf.h>

#include <algorithm>
#include <string_view>

#include "symbolizer/dwarf_units.h"

namespace sampan::symbolizer {

namespace {

constexpr int kMaxDepth = 256;  // of nested DIEs: a bound for the stack, far above real programs
constexpr std::string_view kAnonymousNamespace = "(anonymous namespace)";

using Addresses = std::span<const uint64_t>;

// In C and C++ no function is compiled within a class, and those of a class have linkage names,
// unless it is in an anonymous namespace. To pass classes over is to pass most of a unit over.
bool has_functions_in_classes(Dwarf_Die& unit) {
  switch (dwarf_srclang(&unit)) {
    case DW_LANG_C89:
    case DW_LANG_C:
    case DW_LANG_C99:
    case DW_LANG_C11:
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14: return false;
    default: return true;
  }
}

// Where a DIE is: what encloses it.
struct Place {
  std::string scope;
  int depth = 0;            // of DIEs
  size_t inline_depth = 0;  // of functions

  Place inner() const { return {scope, depth + 1, inline_depth}; }
};

class UnitWalk {
 public:
  // `thorough`: enter functions that hold no address too, for functions nested in them.
  UnitWalk(UnitFunctions& result, bool enters_classes, bool thorough)
      : result_(result), enters_classes_(enters_classes), thorough_(thorough) {}

  void children(Dwarf_Die& parent, Addresses svmas, const Place& place) {
    Dwarf_Die die;
    int status = place.depth < kMaxDepth ? dwarf_child(&parent, &die) : -1;
    for (; status == 0; status = dwarf_siblingof(&die, &die)) {
      // Pre-order is ascending in a sound file; a sibling reference that leads back is not
      // followed.
      const Dwarf_Off offset = dwarf_dieoffset(&die);
      if (offset <= last_offset_) break;
      last_offset_ = offset;
      visit(die, svmas, place);
    }
    if (status != 1) result_.damaged = true;
  }

 private:
  void visit(Dwarf_Die& die, Addresses svmas, const Place& place) {
    switch (dwarf_tag(&die)) {
      case DW_TAG_namespace:
      case DW_TAG_module: return named_scope(die, svmas, place, kAnonymousNamespace);
      case DW_TAG_class_type:
      case DW_TAG_structure_type:
      case DW_TAG_union_type:
        if (enters_classes_ || place.scope.find(kAnonymousNamespace) != std::string::npos) {
          named_scope(die, svmas, place, "(anonymous class)");
        }
        return;
      case DW_TAG_subprogram: return function(die, svmas, {place.scope, place.depth, 0});
      case DW_TAG_inlined_subroutine: return function(die, svmas, place);
      case DW_TAG_lexical_block:
      case DW_TAG_try_block:
      case DW_TAG_catch_block:
      case DW_TAG_with_stmt: {
        const std::vector<uint64_t> inside = within_ranges(die, svmas);
        if (!inside.empty() || thorough_) children(die, inside, place.inner());
        return;
      }
      default: return;
    }
  }

  void named_scope(Dwarf_Die& die, Addresses svmas, const Place& place,
                   std::string_view without_name) {
    if (dwarf_haschildren(&die) != 1) return;
    const char* name = dwarf_diename(&die);
    Place inner = place.inner();
    if (!inner.scope.empty()) inner.scope += "::";
    inner.scope += name != nullptr ? name : without_name;
    const size_t index = result_.scopes.size();
    result_.scopes.push_back({dwarf_dieoffset(&die), 0, inner.scope});
    children(die, svmas, inner);
    result_.scopes[index].end = last_offset_ + 1;
  }

  void function(Dwarf_Die& die, Addresses svmas, const Place& place) {
    const std::vector<uint64_t> inside = within_ranges(die, svmas);
    if (inside.empty() && !thorough_) return;
    for (const uint64_t svma : inside) {
      // Of ranges that overlap, which compilers sometimes write, the last one counts.
      InlineChain& chain = result_.chains[svma];
      chain.resize(std::min(chain.size(), place.inline_depth));
      chain.push_back(die);
    }
    Place inner = place.inner();
    ++inner.inline_depth;
    children(die, inside, inner);
  }

  UnitFunctions& result_;
  bool enters_classes_;
  bool thorough_;
  Dwarf_Off last_offset_ = 0;
};

}  // namespace

UnitFunctions find_functions(Dwarf_Die& unit, std::span<const uint64_t> svmas) {
  UnitFunctions result;
  const bool enters_classes = has_functions_in_classes(unit);
  UnitWalk(result, enters_classes, false).children(unit, svmas, {});
  if (result.chains.size() < svmas.size() && !result.damaged) {
    // Functions nested in others, but compiled elsewhere: Fortran, Ada, nested functions of gcc.
    std::vector<uint64_t> rest;
    for (const uint64_t svma : svmas) {
      if (!result.chains.contains(svma)) rest.push_back(svma);
    }
    UnitFunctions nested;
    UnitWalk(nested, enters_classes, true).children(unit, rest, {});
    result.chains.merge(nested.chains);
  }
  return result;
}

}  // namespace sampan::symbolizer
