#include "symbolizer/profile_names.h"

#include <string>

namespace sampan::symbolizer {

size_t ProfileNames::Hash::operator()(const profile::Function& function) const {
  const uint64_t name = uint64_t{function.name} << 32 | function.line;
  const uint64_t place = uint64_t{function.file} << 32 | function.module;
  return (name * 0x9e3779b97f4a7c15 ^ place) * 0x9e3779b97f4a7c15;
}

ProfileNames::ProfileNames(profile::Profile& profile) : profile_(profile) {
  profile.functions.clear();
  profile.lines.clear();
}

bool ProfileNames::enter(profile::Location& location, const SourceLines& lines) {
  location.first_line = static_cast<uint32_t>(profile_.lines.size());
  location.line_count = static_cast<uint32_t>(lines.size());
  bool is_named = true;
  for (const SourceLine& line : lines) {
    const SourceFunction& source = *line.function;
    const profile::Function entry{intern(source.name), text(source.file), source.line,
                                  location.module};
    profile_.lines.push_back({function(entry), text(line.file), line.line});
    is_named = is_named && !source.is_place;
  }
  return is_named;
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
