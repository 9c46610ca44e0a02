#include "profile/function_kinds.h"

#include "profile/frames.h"

namespace sampan::profile {

std::vector<FunctionKind> function_kinds(const Profile& profile) {
  std::vector<FunctionKind> kinds(profile.functions.size());
  for (const Location& location : profile.locations) {
    if (location.line_count == 0) continue;
    const uint32_t function = profile.lines[location.first_line].function;
    if (function == kNone) continue;
    if (location.wait != kNone) kinds[function] = FunctionKind::kWait;
    if (is_python(location)) kinds[function] = FunctionKind::kPython;
  }
  return kinds;
}

}  // namespace sampan::profile
