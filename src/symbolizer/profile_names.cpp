#include "symbolizer/profile_names.h"

#include <algorithm>
#include <string>
#include <vector>

namespace sampan::symbolizer {

size_t ProfileNames::Hash::operator()(const profile::Function& function) const {
  const uint64_t name = uint64_t{function.name} << 32 | function.line;
  const uint64_t place = uint64_t{function.file} << 32 | function.module;
  return (name * 0x9e3779b97f4a7c15 ^ place) * 0x9e3779b97f4a7c15;
}

ProfileNames::ProfileNames(profile::Profile& profile) : profile_(profile) {
  for (uint32_t i = 0; i < profile.functions.size(); ++i) {
    functions_.try_emplace(profile.functions[i], i);
  }
}

bool ProfileNames::enter(profile::Location& location, const SourceLines& lines) {
  const bool is_named =
      std::ranges::none_of(lines, [](const SourceLine& line) { return line.function->is_place; });
  if (!is_named && location.line_count != 0) return has_name(location);
  std::vector<profile::Line> found;
  for (const SourceLine& line : lines) {
    const SourceFunction& source = *line.function;
    const profile::Function entry{intern(source.name), text(source.file), source.line,
                                  location.module};
    found.push_back({function(entry), text(line.file), line.line});
  }
  const auto same = [](const profile::Line& a, const profile::Line& b) {
    return a.function == b.function && a.file == b.file && a.line == b.line;
  };
  if (std::ranges::equal(found, lines_of(location), same)) return is_named;
  location.first_line = static_cast<uint32_t>(profile_.lines.size());
  location.line_count = static_cast<uint32_t>(found.size());
  profile_.lines.insert(profile_.lines.end(), found.begin(), found.end());
  return is_named;
}

std::span<const profile::Line> ProfileNames::lines_of(const profile::Location& location) const {
  return std::span(profile_.lines).subspan(location.first_line, location.line_count);
}

// What stands for a place is "[module+0x1234]".
bool ProfileNames::has_name(const profile::Location& location) const {
  const profile::Line& outermost = lines_of(location).back();
  return !profile_.strings[profile_.functions[outermost.function].name].starts_with('[');
}

bool ProfileNames::enter_unknown(profile::Location& location) {
  SourceFunction source;
  if (location.wait != profile::kNone) {
    source.name = profile::wait_name(profile_.waits[location.wait]);
  } else {
    source.name = location.address == profile::kShortThread ? "[short thread]" : "[jit]";
  }
  source.is_place = true;
  return enter(location, {{&source, nullptr, 0}});
}

uint32_t ProfileNames::function(const profile::Function& entry) {
  const auto next = static_cast<uint32_t>(profile_.functions.size());
  const auto [known, is_new] = functions_.try_emplace(entry, next);
  if (is_new) profile_.functions.push_back(entry);
  return known->second;
}

}  // namespace sampan::symbolizer
