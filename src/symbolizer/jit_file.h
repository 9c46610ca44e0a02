// Files in which runtimes say what code they make: they lie where everyone may write, and stay when
// their process has ended.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "profile/profile.h"

namespace sampan::symbolizer {

struct CloseFile {
  void operator()(FILE* file) const { fclose(file); }
};
using JitFile = std::unique_ptr<FILE, CloseFile>;

// A regular file, no link, of the same user, written to since the process began; none otherwise.
JitFile open_jit_file(const std::string& path, uint64_t begun_unix_ns);

// When a process of a profile that was recorded here began: one that lives on may have begun long
// before it was recorded.
uint64_t begun_unix_ns(const profile::Profile& profile, const profile::Process& process);

// A piece of code that was made. What came later took the place of what was there before.
struct JitCode {
  uint64_t begin = 0, end = 0;  // AVMA
  uint64_t time_ns = 0;         // CLOCK_MONOTONIC; 0: not known
  std::string_view name;        // until the next one is read
};

}  // namespace sampan::symbolizer
