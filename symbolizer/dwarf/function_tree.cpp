#include "symbolizer/dwarf/function_tree.h"

#include <dwarf.h>

#include <algorithm>
#include <numeric>

namespace sampan::dwarf {

namespace {

// of nested DIEs: bounds the stack, and real programs are far below it
constexpr int kMaxDepth = 256;
// The ranges of one walk: a limit for files in which many DIEs share one long list.
constexpr size_t kMaxRanges = size_t{1} << 24;
constexpr uint32_t kNone = CompiledFunction::kNone;

using Indexes = std::span<const uint32_t>;  // indexes of svmas, ascending

struct CodeAttributes {
  Value low, high, ranges;
  uint32_t call_file = 0, call_line = 0, call_column = 0;
  uint64_t sibling = 0;
};

uint32_t small(uint64_t number) {
  return number <= UINT32_MAX ? static_cast<uint32_t>(number) : 0;
}

class Walk {
 public:
  // `thorough`: also enter functions that contain no address, for the functions nested in them.
  Walk(const Unit& unit, std::span<const uint64_t> svmas, FunctionTree& tree, bool thorough)
      : unit_(unit),
        svmas_(svmas),
        tree_(tree),
        language_(language_of(unit)),
        thorough_(thorough) {}

  // Visits a list of siblings. Returns the offset after the last one; 0 when they cannot be read.
  uint64_t siblings(uint64_t offset, Indexes inside, uint32_t caller, int depth) {
    Die die;
    while (unit_.read(offset, &die)) {
      if (die.abbrev == nullptr) return die.attributes;
      offset = visit(die, inside, caller, depth);
      if (offset == 0) return 0;
    }
    // The end of the unit may stand for the end of the last list.
    return offset == unit_.header().end ? offset : 0;
  }

  uint64_t children(const Die& die, uint64_t after_attributes, Indexes inside, uint32_t caller,
                    int depth) {
    if (!die.abbrev->has_children) return after_attributes;
    if (depth >= kMaxDepth) return unit_.skip(die);
    return siblings(after_attributes, inside, caller, depth + 1);
  }

 private:
  uint64_t visit(const Die& die, Indexes inside, uint32_t caller, int depth) {
    switch (die.abbrev->tag) {
      case DW_TAG_namespace:
      case DW_TAG_module: return enter(die, inside, caller, depth);
      case DW_TAG_class_type:
      case DW_TAG_structure_type:
      case DW_TAG_union_type:
      case DW_TAG_enumeration_type:  // Rust
        // In C and C++ no function is compiled within a class, except in a class that is local to a
        // function. Classes are most of a unit, so skipping them matters.
        if (language_ == Language::kOther || (thorough_ && function_depth_ != 0))
          return enter(die, inside, caller, depth);
        return unit_.skip(die);
      case DW_TAG_subprogram: return function(die, inside, kNone, depth);
      case DW_TAG_inlined_subroutine: return function(die, inside, caller, depth);
      case DW_TAG_lexical_block:
      case DW_TAG_try_block:
      case DW_TAG_catch_block:
      case DW_TAG_with_stmt: return block(die, inside, caller, depth);
      default: return unit_.skip(die);
    }
  }

  uint64_t enter(const Die& die, Indexes inside, uint32_t caller, int depth) {
    uint64_t sibling = 0;
    const uint64_t next = unit_.skip_attributes(die, &sibling);
    return next != 0 ? children(die, next, inside, caller, depth) : 0;
  }

  uint64_t block(const Die& die, Indexes inside, uint32_t caller, int depth) {
    if (!die.abbrev->has_code) {
      return thorough_ ? enter(die, inside, caller, depth) : unit_.skip(die);
    }
    CodeAttributes code;
    const uint64_t next = read_code(die, &code);
    if (next == 0) return 0;
    std::vector<uint32_t> storage;
    const Indexes within = narrow(code, inside, storage);
    if (within.empty() && !thorough_) return offset_after(die, next, code);
    return children(die, next, thorough_ ? inside : within, caller, depth);
  }

  uint64_t function(const Die& die, Indexes inside, uint32_t caller, int depth) {
    ++function_depth_;
    const uint64_t next = enter_function(die, inside, caller, depth);
    --function_depth_;
    return next;
  }

  uint64_t enter_function(const Die& die, Indexes inside, uint32_t caller, int depth) {
    if (!die.abbrev->has_code) {
      return thorough_ ? enter(die, inside, caller, depth) : unit_.skip(die);
    }
    CodeAttributes code;
    const uint64_t next = read_code(die, &code);
    if (next == 0) return 0;
    std::vector<uint32_t> storage;
    const Indexes within = narrow(code, inside, storage);
    if (within.empty()) {
      return thorough_ ? children(die, next, inside, caller, depth) : offset_after(die, next, code);
    }
    const auto number = static_cast<uint32_t>(tree_.functions.size());
    const uint32_t inline_depth = caller != kNone ? tree_.functions[caller].depth + 1 : 0;
    tree_.functions.push_back(
        {die, caller, inline_depth, code.call_file, code.call_line, code.call_column});
    // Compilers sometimes write overlapping ranges: the last one wins.
    for (const uint32_t index : within) tree_.innermost[index] = number;
    return children(die, next, thorough_ ? inside : within, number, depth);
  }

  uint64_t read_code(const Die& die, CodeAttributes* code) const {
    const uint64_t unit = unit_.header().offset;
    return unit_.for_each_attribute(die, [&](uint16_t name, const Value& value) {
      switch (name) {
        case DW_AT_low_pc: code->low = value; break;
        case DW_AT_high_pc: code->high = value; break;
        case DW_AT_ranges: code->ranges = value; break;
        case DW_AT_call_file: code->call_file = small(value.number); break;
        case DW_AT_call_line: code->call_line = small(value.number); break;
        case DW_AT_call_column: code->call_column = small(value.number); break;
        case DW_AT_sibling: code->sibling = unit + value.number; break;
        default: break;
      }
    });
  }

  uint64_t offset_after(const Die& die, uint64_t next, const CodeAttributes& code) const {
    if (!die.abbrev->has_children) return next;
    const bool leads_on = code.sibling >= next && code.sibling <= unit_.header().end;
    return leads_on ? code.sibling : unit_.skip(die);
  }

  // The indexes in `inside` whose addresses are in the ranges. Uses `storage` if there are several
  // ranges.
  Indexes narrow(const CodeAttributes& code, Indexes inside, std::vector<uint32_t>& storage) {
    if (inside.empty() || ranges_seen_ > kMaxRanges) return {};
    ranges_.clear();
    unit_.ranges(code.low, code.high, code.ranges, &ranges_);
    ranges_seen_ += ranges_.size();
    const auto svma_of = [this](uint32_t index) { return svmas_[index]; };
    Indexes only;
    for (const Range& range : ranges_) {
      const auto first = std::ranges::lower_bound(inside, range.begin, {}, svma_of);
      const auto last = std::ranges::lower_bound(first, inside.end(), range.end, {}, svma_of);
      if (first == last) continue;
      if (only.empty()) {
        only = {first, last};
      } else {
        if (storage.empty()) storage.assign(only.begin(), only.end());
        storage.insert(storage.end(), first, last);
      }
    }
    if (storage.empty()) return only;
    std::ranges::sort(storage);
    storage.erase(std::unique(storage.begin(), storage.end()), storage.end());
    return storage;
  }

  const Unit& unit_;
  std::span<const uint64_t> svmas_;
  FunctionTree& tree_;
  const Language language_;
  const bool thorough_;
  int function_depth_ = 0;     // nesting of entered functions
  std::vector<Range> ranges_;  // of one DIE
  size_t ranges_seen_ = 0;
};

void walk(const Unit& unit, std::span<const uint64_t> svmas, Indexes wanted, bool thorough,
          FunctionTree& tree) {
  if (unit.root().abbrev == nullptr) {
    tree.damaged = true;
    return;
  }
  uint64_t sibling = 0;
  const uint64_t begin = unit.skip_attributes(unit.root(), &sibling);
  Walk walk(unit, svmas, tree, thorough);
  if (begin == 0 || walk.children(unit.root(), begin, wanted, kNone, 0) == 0) tree.damaged = true;
}

}  // namespace

Language language_of(const Unit& unit) {
  switch (unit.language()) {
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

FunctionTree find_functions(const Unit& unit, std::span<const uint64_t> svmas) {
  FunctionTree tree;
  tree.innermost.assign(svmas.size(), kNone);
  std::vector<uint32_t> wanted(svmas.size());
  std::iota(wanted.begin(), wanted.end(), 0);
  walk(unit, svmas, wanted, false, tree);
  std::erase_if(wanted, [&](uint32_t index) { return tree.innermost[index] != kNone; });
  // Functions nested in others but compiled elsewhere: Fortran, Ada, nested functions of gcc.
  if (!wanted.empty() && !tree.damaged) walk(unit, svmas, wanted, true, tree);
  return tree;
}

}  // namespace sampan::dwarf
