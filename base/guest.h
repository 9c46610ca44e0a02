// Programs that run another one inside themselves, which has a loader and a processor of its own: what is preloaded into the
// outer one is not to be loaded there. And the loader, where it only shows what a program would load.
//
// Freestanding: linked into the target.
#pragma once

#include <cstring>

#include "base/sanitizer_runtime.h"

namespace sampan {

inline const char* file_name(const char* path) {
  const char* const slash = strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

// "qemu-aarch64", "qemu-x86_64-static": for programs, not for whole machines.
inline bool is_user_emulator(const char* path) {
  return begins_with(file_name(path), "qemu-") && !begins_with(file_name(path), "qemu-system");
}

// The loader itself: a program may be started by its name.
inline bool is_loader(const char* path) {
  return begins_with(file_name(path), "ld-linux");
}

// Whether the loader, with these arguments, runs no program: ld.so --list PROGRAM. `arguments`: up to a null.
inline bool only_shows(char* const* arguments) {
  if (arguments == nullptr || *arguments == nullptr) return false;
  while (*++arguments != nullptr && begins_with(*arguments, "--")) {
    for (const char* mode : {"--list", "--verify", "--help", "--version"}) {
      if (begins_with(*arguments, mode)) return true;
    }
    for (const char* option : {"--library-path", "--inhibit-rpath", "--audit", "--preload",
                               "--argv0", "--glibc-hwcaps-prepend", "--glibc-hwcaps-mask"}) {
      if (strcmp(*arguments, option) == 0 && arguments[1] != nullptr) {
        ++arguments;
        break;
      }
    }
  }
  return false;
}

}  // namespace sampan
