#include "symbolizer/go_lines.h"

#include <utility>

namespace sampan::symbolizer {

namespace {

constexpr size_t kMaxDepth = 256;  // of inlining: a damaged table may lead in circles

}  // namespace

SourceLines GoLines::at(uint64_t svma, Names& names) {
  const auto compiled = table_.function_at(svma);
  // Behind the code of a function there is padding up to the next one.
  if (!compiled || table_.place(*compiled, svma).file.empty()) return {};
  SourceLines lines;
  uint64_t pc = svma;
  const auto append = [&](std::string_view name, std::string_view file, uint32_t line) {
    const GoTable::Place place = table_.place(*compiled, pc);
    const SourceFunction* source = function(name, file, line, names);
    lines.push_back({source, names.file(std::string(place.file)), place.line});
  };
  while (lines.size() < kMaxDepth) {
    const auto inlined = table_.inlined_at(*compiled, pc);
    if (!inlined) break;
    append(inlined->name, table_.place(*compiled, pc).file, inlined->line);
    pc = inlined->caller;
  }
  append(compiled->name, table_.place(*compiled, compiled->entry).file, compiled->line);
  return lines;
}

const SourceFunction* GoLines::function(std::string_view name, std::string_view file, uint32_t line,
                                        Names& names) {
  const SourceFunction*& known = functions_[name];
  if (known == nullptr) {
    SourceFunction source;
    source.name = name;
    source.file = names.file(std::string(file));
    source.line = line;
    known = names.add(std::move(source));
  }
  return known;
}

}  // namespace sampan::symbolizer
