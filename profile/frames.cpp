#include "profile/frames.h"

#include <algorithm>
#include <span>

namespace sampan::profile {

void leaf_to_root(const Profile& profile, uint32_t stack, std::vector<Frame>* frames) {
  frames->clear();
  for (; stack != kNone; stack = profile.stacks[stack].prefix) {
    for_each_frame(profile, profile.stacks[stack].location,
                   [&](const Frame& frame) { frames->push_back(frame); });
  }
}

void root_to_leaf(const Profile& profile, uint32_t stack, std::vector<Frame>* frames) {
  leaf_to_root(profile, stack, frames);
  std::reverse(frames->begin(), frames->end());
}

std::string_view function_name(const Profile& profile, uint32_t function) {
  if (function == kNone) return "[unknown]";
  return profile.strings[profile.functions[function].name];
}

std::string_view module_name(const Profile& profile, uint32_t module) {
  return module == kNone ? "" : file_name(profile.modules[module].path);
}

uint32_t leaf_function(const Profile& profile, uint32_t stack) {
  if (stack == kNone) return kNone;
  const Location& leaf = profile.locations[profile.stacks[stack].location];
  return leaf.line_count == 0 ? kNone : profile.lines[leaf.first_line].function;
}

bool is_python(const Location& location) {
  return location.module == kNone && wire::is_python_frame(location.address);
}

bool has_all_names(const Profile& profile, const Location& location) {
  const std::span lines =
      std::span(profile.lines).subspan(location.first_line, location.line_count);
  return !lines.empty() &&
         std::ranges::all_of(lines, [](const Line& line) { return line.line != 0; });
}

}  // namespace sampan::profile
