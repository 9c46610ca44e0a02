#include "profile/recorded_names.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "profile/jit_code.h"

namespace sampan::profile {

void enter_names(const recording::Names& names, Profile* profile) {
  std::vector<uint32_t> texts, functions;
  texts.reserve(names.texts.size());
  for (const std::string& text : names.texts) texts.push_back(profile->strings.intern(text));
  for (const recording::NamedFunction& row : names.functions) {
    functions.push_back(static_cast<uint32_t>(profile->functions.size()));
    profile->functions.push_back({texts[row.name], texts[row.file], row.line, row.module});
  }
  auto next = names.lines.begin();
  for (const recording::FrameNames& frame : names.frames) {
    const std::span lines(next, frame.line_count);
    next += frame.line_count;
    if (frame.frame >= profile->locations.size()) continue;
    Location& location = profile->locations[frame.frame];
    location.first_line = static_cast<uint32_t>(profile->lines.size());
    location.line_count = frame.line_count;
    for (const recording::NamedLine& line : lines) {
      profile->lines.push_back({functions[line.function], texts[line.file], line.line});
    }
  }
}

void enter_jit_names(const recording::Names& names, Profile* profile) {
  std::vector<JitName> rows = names.jit;
  for (JitName& row : rows) row.name = profile->strings.intern(names.texts[row.name]);
  name_jit_code(std::move(rows), profile);
}

recording::Names names_to_record(const Profile& profile) {
  recording::Names names;
  names.texts.clear();
  for (uint32_t i = 0; i < profile.strings.size(); ++i) names.texts.push_back(profile.strings[i]);
  for (const Function& row : profile.functions) {
    names.functions.push_back({row.name, row.file, row.line, row.module});
  }
  names.jit = profile.jit_names;
  std::vector<bool> has_jit_name(profile.locations.size());
  for (const JitName& row : names.jit) has_jit_name[row.frame] = true;
  for (uint32_t i = 0; i < profile.locations.size(); ++i) {
    const Location& location = profile.locations[i];
    const bool is_recorded = location.wait == kNone && location.copy_of == kNone;
    if (!is_recorded || location.line_count == 0 || has_jit_name[i]) continue;
    names.frames.push_back({i, location.line_count});
    for (const Line& line :
         std::span(profile.lines).subspan(location.first_line, location.line_count)) {
      names.lines.push_back({line.function, line.file, line.line});
    }
  }
  return names;
}

bool has_all_names(const Profile& profile, const Location& location) {
  const std::span lines =
      std::span(profile.lines).subspan(location.first_line, location.line_count);
  return !lines.empty() &&
         std::ranges::all_of(lines, [](const Line& line) { return line.line != 0; });
}

}  // namespace sampan::profile
