// Gives every location of a profile its functions, files and lines: unique addresses, per module,
// grouped by compilation unit, in parallel. Names are demangled. A module that fails is named in
// the result and its frames become "[module+0x1234]"; it never fails the profile.
//
// Debug information that is compressed, as Debian's is, must be inflated whole before the first
// answer: 38 ms of CPU for libc's. It is read when that costs less than a fifth of the CPU time
// that the profile's samples stand for; below, names come from the symbol tables, without lines.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "profile/profile.h"
#include "symbolizer/debug_server.h"

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
  std::shared_ptr<DebugServer> debug_server = {};  // null: none is asked
  std::vector<Substitute> substitutes = {};
  // Where runtimes leave perf-PID.map and jit-PID.dump, see jit_names.h.
  std::vector<std::string> jit_directories = {};
  std::string cache_directory = {};  // "": no names are kept, see name_cache.h
  // Without a build-id a module's file may have changed since: one that did, after this time, is
  // not used. 0: symbolize() takes the session's start, on the machine that it was recorded on.
  uint64_t unchanged_since_unix_ns = 0;
  bool linkage_names = false;  // what the linker calls functions, not demangled
  bool only_unnamed = false;   // what has a name is not looked up to know more
  // Called from the calling thread with locations done and in all, at most ten times a second.
  std::function<void(size_t done, size_t all)> progress;
};

struct Report {
  size_t locations = 0;
  size_t named = 0;                   // with a function name from any source
  std::vector<std::string> problems;  // "libfoo.so: file not found", one per module
};

// Fills functions, lines and locations[].first_line/line_count. Idempotent. What the recording says
// is taken where it says all, and where no more can be found out.
Report symbolize(profile::Profile& profile, const Options& options = {});

}  // namespace sampan::symbolizer
