// Gives every location of a profile its functions, files and lines: unique addresses, per module,
// grouped by compilation unit, in parallel. Names are demangled. A module that fails is named in
// the result and its frames become "[module+0x1234]"; it never fails the profile.
//
// Debug information that is compressed, as Debian's is, must be inflated whole before the first
// answer: 38 ms of CPU for libc's. It is read when that costs less than a fifth of the CPU time
// that the profile's samples stand for; below, names come from the symbol tables, without lines.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "profile/profile.h"

namespace sampan::symbolizer {

// A module whose file is not (any more) where its path says: where it can be opened instead.
struct Substitute {
  std::string path;  // as recorded, like the build-id
  std::vector<uint8_t> build_id;
  std::string file;
};

struct Options {
  unsigned jobs = 0;  // 0: one per CPU
  std::vector<std::string> debug_directories = {"/usr/lib/debug"};
  std::vector<Substitute> substitutes = {};
  // Called from the calling thread with locations done and in all, at most ten times a second.
  std::function<void(size_t done, size_t all)> progress;
};

struct Report {
  size_t locations = 0;
  size_t named = 0;                   // with a function name from any source
  std::vector<std::string> problems;  // "libfoo.so: file not found", one per module
};

// Fills functions, lines and locations[].first_line/line_count. Idempotent.
Report symbolize(profile::Profile& profile, const Options& options = {});

}  // namespace sampan::symbolizer
