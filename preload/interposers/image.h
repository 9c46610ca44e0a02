// Whether an executable file can be preloaded into.
//
// Safe in a vfork child. Freestanding: linked into the target.
#pragma once

#include <fcntl.h>

#include "base/sanitizer_runtime.h"

namespace sampan::preload {

// The file that an exec or a posix_spawn names.
struct ImageFile {
  const char* path;                    // "" with AT_EMPTY_PATH: `directory` is the file itself
  int directory = AT_FDCWD;            // what a relative path starts from
  int flags = 0;                       // of execveat
  bool search_in_path = false;         // a path without a slash is looked up along PATH
  char* const* arguments = nullptr;    // it is executed with these,
  char* const* environment = nullptr;  // and these
};

struct Examined {
  bool takes_shim =
      true;  // false: its loader would complain, or give up, or it runs others inside itself
  bool runs_shim = true;  // false: static, of another C library (musl) or machine
  RuntimeName runtime;    // that must be loaded before the shim
};

// Reads the file before it is executed. Counts it when the loader will not load the shim into it, for it is setuid.
// An emulator that is static hands its environment on to the program that it runs (base/guest.h). A loader that only lists
// libraries would list the shim.
Examined examine_image(const ImageFile& file);

}  // namespace sampan::preload
