// /tmp/perf-PID.map, which runtimes write for perf: a line "BEGIN SIZE NAME" for each piece of
// code, both numbers hexadecimal (Linux, tools/perf/Documentation/jit-interface.txt). It has no
// times.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>

#include "symbolizer/jit_file.h"

namespace sampan::symbolizer {

inline constexpr uint64_t kMaxPerfMap = uint64_t{256} << 20;  // bytes

// In the order of the file. Returns what of it could not be read, a sentence; "" when all could.
std::string read_perf_map(FILE* file, const std::function<void(const JitCode&)>& take);

}  // namespace sampan::symbolizer
