#include "symbolizer/unit_lines.h"

#include <vector>

namespace sampan::symbolizer {

constexpr int kMaxDepth = 16;  // of functions within functions: real programs are far below it

bool UnitResolver::resolve(const dwarf::UnitAddresses& wanted, LinesByAddress& lines) {
  const dwarf::Unit& skeleton = *wanted.unit;
  const DebugFile::Functions source = debug_.functions_of(skeleton);
  const dwarf::FunctionTree tree = dwarf::find_functions(*source.unit, wanted.svmas);
  Files& files = files_of(skeleton);
  const std::vector<dwarf::LineRow> rows = files.table.find(wanted.svmas);

  std::vector<const SourceFunction*> functions(tree.functions.size());
  for (size_t i = 0; i < wanted.svmas.size(); ++i) {
    SourceLines* result = lines.find(wanted.svmas[i]);
    if (result == nullptr) continue;
    SourceLine line{nullptr, file(files, rows[i].file), rows[i].line, rows[i].column};
    uint32_t index = tree.innermost[i];
    if (index == dwarf::CompiledFunction::kNone) {
      if (line.file != nullptr) result->push_back(line);
      continue;
    }
    result->reserve(tree.functions[index].depth + 1);
    while (index != dwarf::CompiledFunction::kNone) {
      const dwarf::CompiledFunction& compiled = tree.functions[index];
      if (functions[index] == nullptr) {
        functions[index] = function({source.file, source.unit, compiled.die}, skeleton);
      }
      line.function = functions[index];
      result->push_back(line);
      line = {nullptr, file(files, compiled.call_file), compiled.call_line, compiled.call_column};
      index = compiled.caller;
    }
  }
  return !tree.damaged;
}

UnitResolver::Files& UnitResolver::files_of(const dwarf::Unit& unit) {
  return files_.try_emplace(&unit, unit).first->second;
}

const std::string* UnitResolver::file(Files& files, uint64_t number) {
  const auto [known, is_new] = files.by_number.try_emplace(number);
  if (is_new) known->second = names_.file(files.table.path(number));
  return known->second;
}

// All inlined and compiled copies of a function refer to one DIE.
const SourceFunction* UnitResolver::function(const dwarf::DiePlace& place,
                                             const dwarf::Unit& skeleton) {
  const dwarf::DiePlace origin = dwarf::origin_of(place);
  const SourceFunction*& known = functions_[{origin.file, origin.die.offset}];
  if (known == nullptr) {
    const dwarf::FunctionFacts facts = dwarf::describe(place);
    SourceFunction function;
    function.name = name(facts);
    function.line = facts.line;
    function.is_local = facts.linkage_name == nullptr;
    const dwarf::Scopes* scopes = scopes_of(*facts.declaration.unit);
    function.lacks_scope = function.is_local && scopes != nullptr && !scopes->any();
    if (facts.file_unit != nullptr) {
      // The skeleton's line table numbers the files of a split unit.
      const dwarf::Unit& unit = facts.file_unit == place.unit ? skeleton : *facts.file_unit;
      function.file = file(files_of(unit), facts.file);
    }
    known = names_.add(std::move(function));
  }
  return known;
}

std::string UnitResolver::name(const dwarf::FunctionFacts& facts) {
  if (facts.linkage_name != nullptr) return names_.demangled(facts.linkage_name);
  if (facts.name == nullptr) return "";
  if (names_.linkage_names()) return facts.name;
  return dwarf::joined(scope_of(facts.declaration), facts.name);
}

const dwarf::Scopes* UnitResolver::scopes_of(const dwarf::Unit& unit) {
  if (dwarf::language_of(unit) == dwarf::Language::kC) return nullptr;
  return &scopes_.try_emplace(&unit, unit).first->second;
}

std::string UnitResolver::scope_of(const dwarf::DiePlace& declaration, int depth) {
  const dwarf::Unit& unit = *declaration.unit;
  const dwarf::Scopes* scopes = scopes_of(unit);
  if (scopes == nullptr) return "";
  return scopes->enclosing(declaration.die.offset, [&](const dwarf::Die& die) {
    return full_name({declaration.file, &unit, die}, depth);
  });
}

std::string UnitResolver::full_name(const dwarf::DiePlace& function, int depth) {
  const auto [known, is_new] = full_names_.try_emplace({function.file, function.die.offset});
  std::string& name = known->second;
  if (!is_new) return name;  // "" if a damaged file leads back here
  const dwarf::FunctionFacts facts = dwarf::describe(function);
  const bool is_elsewhere = facts.declaration.unit != function.unit ||
                            facts.declaration.die.offset != function.die.offset;
  if (facts.linkage_name != nullptr) {
    name = names_.demangled(facts.linkage_name);
  } else if (facts.name != nullptr && is_elsewhere && depth < kMaxDepth) {
    name = dwarf::joined(scope_of(facts.declaration, depth + 1), facts.name);
  }
  return name;
}

}  // namespace sampan::symbolizer
