// Gives every location of a profile its functions, files and lines. Addresses are looked up once,
// by module and compilation unit, in parallel. Names are demangled. A module that fails is named in
// the result, and its frames become "[module+0x1234]"; the profile never fails.
//
// Compressed debug information, such as Debian's, must be inflated as a whole before the first
// answer: 38 ms of CPU for libc's. It is read only if that costs less than a fifth of the CPU time
// that the profile's samples stand for; otherwise names come from the symbol tables, without lines.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "profile/profile.h"
#include "symbolizer/debug_server.h"

namespace sampan::symbolizer {

// A module whose file is not, or no longer, at its path: the file that can be opened instead.
struct Substitute {
  std::string path;  // as recorded, like the build-id
  std::vector<uint8_t> build_id;
  std::string file;
};

struct Options {
  unsigned jobs = 0;  // 0: one per CPU
  std::vector<std::string> debug_directories = {"/usr/lib/debug"};
  std::shared_ptr<DebugServer> debug_server = {};  // null: no server
  std::vector<Substitute> substitutes = {};
  // The root directory that modules and their debug files are looked for in first: of a container, of another system.
  // "": ours alone.
  std::string sysroot = {};
  // Directories with perf-PID.map and jit-PID.dump, see jit_names.h.
  std::vector<std::string> jit_directories = {};
  std::string cache_directory = {};  // "": no cache, see name_cache.h
  // A module without a build-id is not used if its file changed after this time. 0: symbolize()
  // takes the start of the session, on the machine of the recording.
  UnixNs unchanged_since_unix_ns = 0;
  bool linkage_names = false;  // keep linkage names, not demangled
  bool only_unnamed = false;   // do not look up more about locations that have a name
  // Called from the calling thread with the number of finished and of all locations, at most ten
  // times a second.
  std::function<void(size_t done, size_t all)> progress;
};

// Options for the machine of the recording, by this user's environment: debuginfod, the directories
// of runtimes, the cache.
Options environment_options();

struct Report {
  size_t locations = 0;
  size_t named = 0;                   // with a function name from any source
  std::vector<std::string> problems;  // "libfoo.so: file not found", one per module
};

// Fills functions, lines and locations[].first_line/line_count. Idempotent. Names in the recording
// are kept if they are complete, or nothing better is found.
Report symbolize(profile::Profile& profile, const Options& options = {});

}  // namespace sampan::symbolizer
