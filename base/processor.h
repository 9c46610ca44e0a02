// The processor that this is built for: its names, and what there is for it.
//
// Freestanding: linked into the target.
#pragma once

#include <elf.h>

#include <cstdint>

namespace sampan {

#if defined(__aarch64__)
inline constexpr uint16_t kElfMachine = EM_AARCH64;
inline constexpr const char* kProcessor = "AArch64";
inline constexpr const char* kMachineName = "aarch64";  // of uname(2)
inline constexpr uint64_t kTidOfPthread = 208;   // the offset of the tid in glibc's struct pthread
inline constexpr bool kHasPtraceEngine = false;  // see sampler/aarch64/engines.cpp
#else
inline constexpr uint16_t kElfMachine = EM_X86_64;
inline constexpr const char* kProcessor = "x86-64";
inline constexpr const char* kMachineName = "x86_64";
inline constexpr uint64_t kTidOfPthread = 720;
inline constexpr bool kHasPtraceEngine = true;
#endif

}  // namespace sampan
