#include "symbolizer/module_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <string_view>
#include <utility>

namespace sampan::symbolizer {

namespace {

constexpr size_t kUnitsPerChunk = 16;  // fewer are not worth another handle

template <typename Step>
void guarded(std::string& problem, Step step) {
  try {
    step();
  } catch (const std::exception& error) {
    problem = error.what();
  }
}

}  // namespace

void ModuleWork::open(const Options& options, uint64_t inflate_limit, size_t max_chunks) {
  guarded(problem_, [&] {
    std::ranges::sort(svmas_);
    svmas_.erase(std::unique(svmas_.begin(), svmas_.end()), svmas_.end());
    source_.emplace(module_, file_, options.debug_directories, inflate_limit);
    std::vector<UnitAddresses> units = source_->units(svmas_);
    if (units.empty()) return;
    if (!source_->is_cheap_to_open()) max_chunks = 1;
    chunks_.resize(std::min(max_chunks, 1 + units.size() / kUnitsPerChunk));
    for (size_t i = 0; i < units.size(); ++i) {
      chunks_[i % chunks_.size()].units.push_back(std::move(units[i]));
    }
  });
}

void ModuleWork::resolve(size_t index, const Options& options, std::atomic<size_t>& done) {
  Chunk& chunk = chunks_[index];
  guarded(chunk.problem, [&] {
    std::optional<ModuleSource> own;  // the first chunk has the handle that is open already
    if (index != 0) own.emplace(module_, file_, options.debug_directories, UINT64_MAX);
    ModuleSource& source = own ? *own : *source_;
    for (const UnitAddresses& unit : chunk.units) {
      if (!source.resolve(unit, chunk.names, chunk.lines)) ++chunk.damaged_units;
      done += unit.svmas.size();
    }
  });
}

void ModuleWork::complete() {
  for (Chunk& chunk : chunks_) lines_.merge(chunk.lines);
  for (const uint64_t svma : svmas_) {
    SourceLines& lines = lines_[svma];
    if (lines.empty()) lines.emplace_back();
    guarded(problem_, [&] {
      if (source_) source_->improve(lines.back(), svma, names_);
    });
    for (SourceLine& line : lines) {
      if (line.function == nullptr || line.function->name.empty()) line.function = place(svma);
    }
  }
}

// One function for all addresses of what has no name.
const SourceFunction* ModuleWork::place(uint64_t svma) {
  const uint64_t start = source_ ? source_->function_start(svma).value_or(svma) : svma;
  const SourceFunction*& function = places_[start];
  if (function == nullptr) {
    std::string_view name = module_.path;
    name.remove_prefix(name.rfind('/') + 1);
    if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
    SourceFunction entry;
    entry.name = fmt::format("[{}+{:#x}]", name, start);
    entry.is_place = true;
    function = names_.add(std::move(entry));
  }
  return function;
}

const SourceLines& ModuleWork::lines(uint64_t svma) const {
  static const SourceLines kNone;
  const auto found = lines_.find(svma);
  return found != lines_.end() ? found->second : kNone;
}

std::string ModuleWork::problem() const {
  if (!problem_.empty()) return problem_;
  if (source_ && !source_->problem().empty()) return source_->problem();
  size_t damaged_units = 0;
  for (const Chunk& chunk : chunks_) {
    if (!chunk.problem.empty()) return chunk.problem;
    damaged_units += chunk.damaged_units;
  }
  if (damaged_units == 0) return "";
  return fmt::format(
      "its debug information is damaged in {} of the compilation units that were "
      "needed, some names are from its symbols",
      damaged_units);
}

}  // namespace sampan::symbolizer
