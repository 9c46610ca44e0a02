#include "symbolizer/inline_chains.h"

#include <dwarf.h>

#include <algorithm>
#include <string>

#include "symbolizer/dwarf_units.h"

namespace sampan::symbolizer {

namespace {

constexpr int kMaxDepth = 256;  // of nested DIEs: a bound for the stack, far above real programs
using Addresses = std::span<const uint64_t>;

enum class Language { kC, kCpp, kOther };

Language language_of(Dwarf_Die& unit) {
  switch (dwarf_srclang(&unit)) {
    case DW_LANG_C89:
    case DW_LANG_C:
    case DW_LANG_C99:
    case DW_LANG_C11:
    case DW_LANG_Mips_Assembler: return Language::kC;
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14: return Language::kCpp;
    default: return Language::kOther;
  }
}

// Where a DIE is: what encloses it.
struct Place {
  std::string scope;        // namespaces and classes
  size_t scope_number = 0;  // the same, in Scopes
  int depth = 0;            // of DIEs
  size_t inline_depth = 0;  // of functions

  Place inner() const { return {scope, scope_number, depth + 1, inline_depth}; }
};

class UnitWalk {
 public:
  // `thorough`: enter functions that hold no address too, for functions nested in them.
  UnitWalk(UnitFunctions& result, Language language, bool thorough)
      : result_(result), language_(language), thorough_(thorough) {
    result.scopes.open("");
  }

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
      case DW_TAG_module: return named_scope(die, svmas, place);
      case DW_TAG_class_type:
      case DW_TAG_structure_type:
      case DW_TAG_union_type:
        // In C++ no function is compiled within a class; to pass classes over is to pass over most
        // of a unit.
        if (language_ == Language::kOther) return named_scope(die, svmas, place);
        if (language_ == Language::kCpp && place.inline_depth == 0) note(die, place);
        return;
      case DW_TAG_subprogram:
        if (language_ != Language::kC && place.inline_depth == 0) note(die, place);
        return function(die, svmas, {place.scope, place.scope_number, place.depth, 0});
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

  void note(const Dwarf_Die& die, const Place& place) {
    result_.scopes.add(die, place.scope_number);
  }

  void named_scope(Dwarf_Die& die, Addresses svmas, const Place& place) {
    if (dwarf_haschildren(&die) != 1) return;
    const char* name = dwarf_diename(&die);
    Place inner = place.inner();
    inner.scope = joined(place.scope, name != nullptr ? name : "(anonymous namespace)");
    inner.scope_number = result_.scopes.open(inner.scope);
    children(die, svmas, inner);
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
  Language language_;
  bool thorough_;
  Dwarf_Off last_offset_ = 0;
};

}  // namespace

UnitFunctions find_functions(Dwarf_Die& unit, std::span<const uint64_t> svmas) {
  UnitFunctions result;
  const Language language = language_of(unit);
  UnitWalk(result, language, false).children(unit, svmas, {});
  if (result.chains.size() < svmas.size() && !result.damaged) {
    // Functions nested in others, but compiled elsewhere: Fortran, Ada, nested functions of gcc.
    std::vector<uint64_t> rest;
    for (const uint64_t svma : svmas) {
      if (!result.chains.contains(svma)) rest.push_back(svma);
    }
    UnitFunctions nested;
    UnitWalk(nested, language, true).children(unit, rest, {});
    result.chains.merge(nested.chains);
  }
  return result;
}

}  // namespace sampan::symbolizer
