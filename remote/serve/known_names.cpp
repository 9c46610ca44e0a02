#include "remote/serve/known_names.h"

#include <algorithm>

#include "profile/load.h"
#include "wire/record.h"

namespace sampan::serve {
namespace {

using recording::kNone;

// Above all user-space addresses, aligned to megabytes.
constexpr uint64_t kFirst = uint64_t{1} << 48;
constexpr uint64_t kAlignment = uint64_t{1} << 20;
constexpr uint64_t kLongest = uint64_t{1} << 40;  // longer modules come from damaged recordings

}  // namespace

std::optional<uint32_t> KnownNames::find_module(const recording::Module& module) const {
  const auto found = rows_.find({module.path, module.build_id});
  return found != rows_.end() ? std::optional(found->second) : std::nullopt;
}

uint32_t KnownNames::module_row(const recording::Module& module) {
  const auto next = static_cast<uint32_t>(modules_.size());
  const auto [known, is_new] = rows_.try_emplace({module.path, module.build_id}, next);
  if (!is_new) return known->second;
  const uint64_t free = modules_.empty() ? kFirst : modules_.back().place.end + kAlignment;
  const uint64_t begin =
      (free + kAlignment - 1) / kAlignment * kAlignment + module.svma_begin % kAlignment;
  const uint64_t size =
      module.svma_end > module.svma_begin ? module.svma_end - module.svma_begin : 0;
  modules_.push_back(
      {{module.path, module.svma_begin, begin, begin + std::min(size, kLongest)}, {}});
  return next;
}

// The recording itself has these names.
void KnownNames::learn_python(const recording::Recording& recording) {
  const recording::Names& names = recording.names;
  size_t line = 0;
  for (const recording::FrameNames& row : names.frames) {
    const size_t first = line;
    line += row.line_count;
    if (row.line_count == 0 || row.frame >= recording.frames.size()) continue;
    const recording::Frame& frame = recording.frames[row.frame];
    if (frame.module != kNone || !wire::is_python_frame(frame.address)) continue;
    python_.try_emplace(frame.address,
                        names.texts[names.functions[names.lines[first].function].name]);
  }
}

void KnownNames::learn(const recording::Recording& recording) {
  const std::lock_guard one_at_a_time(learning_);
  recording::Recording unknown;
  std::vector<uint32_t> modules;
  {
    const std::lock_guard lock(mutex_);
    learn_python(recording);
    for (const recording::Module& module : recording.modules) {
      modules.push_back(module_row(module));
    }
    for (const recording::Frame& frame : recording.frames) {
      if (frame.module == kNone) continue;
      if (!modules_[modules[frame.module]].frames.contains(frame.address)) {
        unknown.frames.push_back(frame);
      }
    }
  }
  if (unknown.frames.empty()) return;
  unknown.modules = recording.modules;
  const std::vector<recording::Frame> frames = unknown.frames;
  profile::Profile profile = profile::load(std::move(unknown));
  symbolizer::symbolize(profile, options_);
  const recording::Names names = profile::names_to_record(profile);
  const std::lock_guard lock(mutex_);
  add(names, frames, modules);
}

uint32_t KnownNames::text(const std::string& text) {
  const auto next = static_cast<uint32_t>(names_.texts.size());
  const auto [known, is_new] = texts_.try_emplace(text, next);
  if (is_new && text.empty()) return known->second = 0;  // index 0 is ""
  if (is_new) names_.texts.push_back(text);
  return known->second;
}

void KnownNames::add(const recording::Names& names, const std::vector<recording::Frame>& frames,
                     const std::vector<uint32_t>& modules) {
  std::vector<uint32_t> functions;
  for (const recording::NamedFunction& row : names.functions) {
    const recording::NamedFunction function{text(names.texts[row.name]),
                                            text(names.texts[row.file]), row.line,
                                            row.module != kNone ? modules[row.module] : kNone};
    const auto next = static_cast<uint32_t>(names_.functions.size());
    const auto [known, is_new] = functions_.try_emplace(
        {function.name, function.file, function.line, function.module}, next);
    if (is_new) names_.functions.push_back(function);
    functions.push_back(known->second);
  }
  auto line = names.lines.begin();
  for (const recording::FrameNames& row : names.frames) {
    const recording::Frame& frame = frames[row.frame];
    const auto next = static_cast<uint32_t>(names_.frames.size());
    const bool is_new =
        modules_[modules[frame.module]].frames.try_emplace(frame.address, next).second;
    if (is_new) {
      names_.frames.push_back({next, row.line_count});
      first_line_.push_back(names_.lines.size());
    }
    for (uint32_t i = 0; i < row.line_count; ++i, ++line) {
      if (!is_new) continue;
      names_.lines.push_back(
          {functions[line->function], text(names.texts[line->file]), line->line, line->column});
    }
  }
}

void KnownNames::enter(recording::Recording* recording) const {
  const std::lock_guard lock(mutex_);
  std::vector<uint32_t> ours(recording->modules.size(), kNone);
  std::vector<uint32_t> theirs(modules_.size(), kNone);
  for (uint32_t i = 0; i < recording->modules.size(); ++i) {
    const std::optional<uint32_t> row = find_module(recording->modules[i]);
    if (!row) continue;
    ours[i] = *row;
    theirs[*row] = i;
  }
  std::vector<uint32_t> frames(names_.frames.size(), kNone);
  for (uint32_t i = 0; i < recording->frames.size(); ++i) {
    const recording::Frame& frame = recording->frames[i];
    if (frame.module == kNone || ours[frame.module] == kNone) continue;
    const auto& known = modules_[ours[frame.module]].frames;
    const auto found = known.find(frame.address);
    if (found != known.end()) frames[found->second] = i;
  }
  join(recording::renumbered(names_, frames, theirs), &recording->names);
}

uint64_t KnownNames::address_of(const recording::Recording& recording, uint32_t frame) {
  const recording::Frame& row = recording.frames[frame];
  if (row.module == kNone) return row.address;
  const std::lock_guard lock(mutex_);
  const NamedModule& place = modules_[module_row(recording.modules[row.module])].place;
  return place.begin - place.svma_begin + row.address;
}

std::vector<std::string> KnownNames::functions_at(uint64_t address) const {
  const std::lock_guard lock(mutex_);
  if (const auto python = python_.find(address); python != python_.end()) return {python->second};
  const auto behind = std::ranges::upper_bound(
      modules_, address, {}, [](const Module& module) { return module.place.begin; });
  if (behind == modules_.begin()) return {};
  const Module& module = *(behind - 1);
  const auto found = module.frames.find(address - module.place.begin + module.place.svma_begin);
  if (found == module.frames.end()) return {};
  std::vector<std::string> functions;
  const size_t first = first_line_[found->second];
  for (size_t i = first; i < first + names_.frames[found->second].line_count; ++i) {
    functions.push_back(names_.texts[names_.functions[names_.lines[i].function].name]);
  }
  return functions;
}

std::vector<NamedModule> KnownNames::modules() const {
  const std::lock_guard lock(mutex_);
  std::vector<NamedModule> places;
  for (const Module& module : modules_) places.push_back(module.place);
  return places;
}

size_t KnownNames::size() const {
  const std::lock_guard lock(mutex_);
  return names_.frames.size() + python_.size();
}

}  // namespace sampan::serve
