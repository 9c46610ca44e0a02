#include "profile/own_functions.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "profile/frames.h"

namespace sampan::profile {
namespace {

constexpr std::array<std::string_view, 10> kLibraries = {
    "libc.so",  "libc-",       "libpthread",  "libstdc++.so", "libc++.so",
    "ld-linux", "libjemalloc", "libmimalloc", "libtcmalloc",  "libsampan"};

bool is_library(const Profile& profile, uint32_t module) {
  if (module == kNone) return false;
  const std::string_view name = file_name(profile.modules[module].path);
  return std::ranges::any_of(
      kLibraries, [name](std::string_view library) { return name.starts_with(library); });
}

// What a compiler made of the library's headers is in the program, and templates are often named without their
// namespace: "wait".
bool is_of_cpp_library(const Profile& profile, uint32_t function) {
  if (function == kNone) return false;
  const std::string_view name = function_name(profile, function);
  if (name.starts_with("std::") || name.starts_with("__gthread_") ||
      name.starts_with("operator new") || name.starts_with("operator delete")) {
    return true;
  }
  return profile.strings[profile.functions[function].file].find("/include/c++/") !=
         std::string::npos;
}

}  // namespace

uint32_t own_function(const Profile& profile, uint32_t stack) {
  std::vector<Frame> frames;
  leaf_to_root(profile, stack, &frames);
  for (const Frame& frame : frames) {
    const Location& place = profile.locations[frame.location];
    if (place.wait != kNone || is_library(profile, place.module)) continue;
    if (!is_of_cpp_library(profile, frame.function)) return frame.function;
  }
  return frames.empty() ? kNone : frames.front().function;
}

uint32_t OwnFunctions::of(uint32_t stack) {
  if (stack == kNone) return kNone;
  const auto [found, is_new] = known_.try_emplace(stack, kNone);
  if (is_new) found->second = own_function(profile_, stack);
  return found->second;
}

}  // namespace sampan::profile
