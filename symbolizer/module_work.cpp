#include "symbolizer/module_work.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <exception>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace sampan::symbolizer {

namespace {

constexpr size_t kUnitsPerChunk = 16;  // fewer are not worth a thread

template <typename Step>
void guarded(std::string& problem, Step step) {
  try {
    step();
  } catch (const std::exception& error) {
    problem = error.what();
  }
}

}  // namespace

void ModuleWork::open(uint64_t inflate_limit, size_t max_chunks) {
  std::ranges::sort(svmas_);
  svmas_.erase(std::unique(svmas_.begin(), svmas_.end()), svmas_.end());
  lines_ = LinesByAddress(std::move(svmas_));
  unknown_ = lines_.svmas();
  guarded(problem_, [&] {
    if (!options_.cache_directory.empty()) {
      cache_.emplace(options_.cache_directory, module_.build_id, options_.linkage_names);
      unknown_ = cache_->enter(lines_, names_);
      if (std::ranges::all_of(lines_.svmas(), [&](uint64_t svma) { return is_named(svma); }))
        return;
      if (unknown_.empty()) inflate_limit = 0;  // the file is needed only for names of places
    }
    check_unchanged();
    source_.emplace(module_, file_, options_.debug_directories, inflate_limit,
                    options_.debug_server.get());
    if (source_->debug() == nullptr || unknown_.empty()) return;
    auto units = dwarf::group_by_unit(source_->debug()->file(), unknown_);
    const size_t count = std::min(max_chunks, 1 + units.size() / kUnitsPerChunk);
    while (chunks_.size() < count) chunks_.emplace_back(options_.linkage_names);
    for (size_t i = 0; i < units.size(); ++i) {
      chunks_[i % count].units.push_back(std::move(units[i]));
    }
  });
}

void ModuleWork::check_unchanged() const {
  struct stat status {};
  const bool is_elsewhere = file_ != module_.path;  // the mapped file, found by other means
  if (options_.unchanged_since_unix_ns == 0 || !module_.build_id.empty() || is_elsewhere ||
      stat(file_.c_str(), &status) != 0) {
    return;
  }
  const auto changed_ns = static_cast<uint64_t>(status.st_ctim.tv_sec) * 1'000'000'000 +
                          static_cast<uint64_t>(status.st_ctim.tv_nsec);
  if (changed_ns <= options_.unchanged_since_unix_ns) return;
  throw Error("it has changed since the recording began and has no build-id, not used");
}

void ModuleWork::resolve(size_t index, std::atomic<size_t>& done) {
  Chunk& chunk = chunks_[index];
  guarded(chunk.problem, [&] {
    UnitResolver resolver(*source_->debug(), chunk.names);
    for (const dwarf::UnitAddresses& unit : chunk.units) {
      if (!resolver.resolve(unit, lines_)) ++chunk.damaged_units;
      done += unit.svmas.size();
    }
  });
}

void ModuleWork::complete() {
  for (const uint64_t svma : lines_.svmas()) {
    SourceLines& lines = *lines_.find(svma);
    if (!std::ranges::binary_search(unknown_, svma) && is_named(svma)) continue;
    guarded(problem_, [&] {
      if (source_) source_->complete(lines, svma, names_);
    });
    if (lines.empty()) lines.emplace_back();
    for (SourceLine& line : lines) {
      if (line.function == nullptr || line.function->name.empty()) {
        const SourceFunction* const data = lines.size() == 1 ? variable(svma) : nullptr;
        line.function = data != nullptr ? data : place(svma);
      }
    }
  }
  guarded(problem_, [&] {
    const bool has_damage = std::ranges::any_of(chunks_, &Chunk::damaged_units);
    if (cache_ && source_ && source_->is_whole() && !has_damage) {
      cache_->add(lines_, unknown_);
    }
  });
}

bool ModuleWork::is_named(uint64_t svma) const {
  const SourceLines& lines = *lines_.find(svma);
  return !lines.empty() && std::ranges::none_of(lines, [](const SourceLine& line) {
    return line.function == nullptr;
  });
}

// Locks are shown by the variables that they are.
const SourceFunction* ModuleWork::variable(uint64_t svma) {
  const char* const symbol = source_ ? source_->variable_at(svma) : nullptr;
  if (symbol == nullptr) return nullptr;
  const std::string_view name = symbol;
  SourceFunction entry;
  entry.name = names_.demangled_copy(std::string(name.substr(0, name.find('@'))));
  return names_.add(std::move(entry));
}

// All addresses of one function without a name share an entry.
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
  const SourceLines* found = lines_.find(svma);
  return found != nullptr ? *found : kNone;
}

std::string ModuleWork::problem() const {
  if (!problem_.empty()) return problem_;
  const std::string source_problem = source_ ? source_->problem() : "";
  if (!source_problem.empty()) return source_problem;
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
