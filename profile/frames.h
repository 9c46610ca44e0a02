// The frames of a stack as a person counts them: each inlined function is a frame.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "profile/profile.h"

namespace sampan::profile {

struct Frame {
  uint32_t location = kNone;
  uint32_t function = kNone;  // kNone: the profile is not symbolized
  uint32_t file = 0;          // string: of the line that is executing
  uint32_t line = 0;          // that is executing; 0 unknown
  uint32_t column = 0;        // the same; two calls in one line are two frames
  bool inlined = false;       // into the next frame towards the root
};

// Calls visit(const Frame&) for the frames of a location, innermost first. At least once.
template <typename Visit>
void for_each_frame(const Profile& profile, uint32_t location, Visit&& visit) {
  const Location& place = profile.locations[location];
  if (place.line_count == 0) return visit(Frame{.location = location});
  for (uint32_t i = 0; i < place.line_count; ++i) {
    const Line& line = profile.lines[place.first_line + i];
    visit(Frame{location, line.function, line.file, line.line, line.column,
                i + 1 < place.line_count});
  }
}

// The frames of a stack (kNone: none), in a buffer that is cleared first.
void leaf_to_root(const Profile& profile, uint32_t stack, std::vector<Frame>* frames);
void root_to_leaf(const Profile& profile, uint32_t stack, std::vector<Frame>* frames);

// The innermost function of a stack, an inlined one if there is one; kNone if it is not known.
uint32_t leaf_function(const Profile& profile, uint32_t stack);

// Whether the location is in a function of a Python interpreter.
bool is_python(const Location& location);

// Whether each function of the location, its file and its line are known.
bool has_all_names(const Profile& profile, const Location& location);

// The function's name; "[unknown]" for kNone.
std::string_view function_name(const Profile& profile, uint32_t function);
// A path without its directories.
inline std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0: the whole
}
// The file name of the module; "" for kNone.
std::string_view module_name(const Profile& profile, uint32_t module);

}  // namespace sampan::profile
