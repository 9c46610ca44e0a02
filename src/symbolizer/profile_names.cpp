#include "symbolizer/profile_names.h"

#include <fmt/format.h>

#include <string>

namespace sampan::symbolizer {

namespace {

// "libc.so.6" of "/usr/lib/libc.so.6", "vdso" of "[vdso]".
std::string_view base_name(std::string_view path) {
  path = path.substr(path.rfind('/') + 1);
  if (path.starts_with('[') && path.ends_with(']')) path = path.substr(1, path.size() - 2);
  return path;
}

}  // namespace

size_t ProfileNames::Hash::operator()(const profile::Function& function) const {
  const uint64_t name = uint64_t{function.name} << 32 | function.line;
  const uint64_t place = uint64_t{function.file} << 32 | function.module;
  return (name * 0x9e3779b97f4a7c15 ^ place) * 0x9e3779b97f4a7c15;
}

ProfileNames::ProfileNames(profile::Profile& profile) : profile_(profile) {
  profile.functions.clear();
  profile.lines.clear();
}

bool ProfileNames::enter(profile::Location& location, const SourceLines* found) {
  static const SourceLines kNothing(1);
  const SourceLines& lines = found != nullptr && !found->empty() ? *found : kNothing;
  location.first_line = static_cast<uint32_t>(profile_.lines.size());
  location.line_count = static_cast<uint32_t>(lines.size());
  bool is_named = true;
  for (const SourceLine& line : lines) {
    profile::Function entry;
    entry.module = location.module;
    if (line.function != nullptr && !line.function->name.empty()) {
      entry.name = intern(line.function->name);
      entry.file = text(line.function->file);
      entry.line = line.function->line;
    } else {
      is_named = false;
      entry.name = place_name(location);
    }
    profile_.lines.push_back({function(entry), text(line.file), line.line});
  }
  return is_named;
}

uint32_t ProfileNames::function(const profile::Function& entry) {
  const auto next = static_cast<uint32_t>(profile_.functions.size());
  const auto [known, is_new] = functions_.try_emplace(entry, next);
  if (is_new) profile_.functions.push_back(entry);
  return known->second;
}

uint32_t ProfileNames::place_name(const profile::Location& location) {
  if (location.module >= profile_.modules.size()) {
    return intern(fmt::format("[unknown {:#x}]", location.address));
  }
  const std::string_view module = base_name(profile_.modules[location.module].path);
  return intern(fmt::format("[{}+{:#x}]", module, location.address));
}

}  // namespace sampan::symbolizer
