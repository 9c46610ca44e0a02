// jit-PID.dump, which runtimes write for perf when they are asked to: what code was made, and when
// (Linux, tools/perf/Documentation/jitdump-specification.txt).
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>

#include "symbolizer/jit_file.h"

namespace sampan::symbolizer {

// Bytes that are read; the code itself, most of such a file, is not.
inline constexpr uint64_t kMaxJitDump = uint64_t{256} << 20;

// Code that process `pid` made or moved, in the order of the file. Returns what of it could not be
// read, a sentence; "" when all could.
std::string read_jit_dump(FILE* file, uint32_t pid,
                          const std::function<void(const JitCode&)>& take);

}  // namespace sampan::symbolizer
