#include "profile/frames.h"

#include <algorithm>

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
  if (module == kNone) return "";
  const std::string_view path = profile.modules[module].path;
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0: the whole
}

}  // namespace sampan::profile
