// Files in which runtimes describe the code that they generate. They are in directories that
// everyone can write to, and stay when their process has ended. Hosted only.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace sampan {

struct CloseFile {
  void operator()(FILE* file) const { fclose(file); }
};
using JitFile = std::unique_ptr<FILE, CloseFile>;

// Opens a regular file, not a link, of the same user, written to since the process began; else
// null.
JitFile open_jit_file(const std::string& path, UnixNs begun_unix_ns);

// When the process that has this pid now began; nothing if there is none.
std::optional<UnixNs> begun_unix_ns(int pid);

// A piece of generated code. Later code replaces what was at its addresses before.
struct JitCode {
  uint64_t begin = 0, end = 0;  // AVMA
  MonotonicNs time_ns = 0;      // 0: unknown
  std::string_view name;        // valid until the next one is read
};

// /tmp/perf-PID.map, which runtimes write for perf: a line "BEGIN SIZE NAME" for each piece of
// code, both numbers hexadecimal, without times (Linux,
// tools/perf/Documentation/jit-interface.txt). Reports code in the order of the file. Returns what could not be read, as a
// sentence; "" if nothing.
std::string read_perf_map(FILE* file, const std::function<void(const JitCode&)>& take);

// Bytes that are read of each; the code itself, most of a dump, is skipped.
inline constexpr uint64_t kMaxJitFile = uint64_t{256} << 20;

}  // namespace sampan
