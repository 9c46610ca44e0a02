// What the shim needs of AArch64 beyond C++.
//
// Freestanding: linked into the target.
#pragma once

#include <elf.h>
#include <linux/audit.h>
#include <pthread.h>

#include <cstddef>
#include <cstdint>

namespace sampan::preload {

// How far glibc's descriptor of a thread is from its thread pointer: the same in all threads.
inline constinit uint64_t pthread_distance = 0;

// pthread_self() without a call. Async-signal-safe.
inline pthread_t this_pthread() {
  return reinterpret_cast<uint64_t>(__builtin_thread_pointer()) + pthread_distance;
}
// At start-up.
inline void find_this_pthread() {
  pthread_distance = pthread_self() - reinterpret_cast<uint64_t>(__builtin_thread_pointer());
}

// Thread-local storage lies at distances from here.
inline uint64_t thread_pointer() {
  return reinterpret_cast<uint64_t>(__builtin_thread_pointer());
}
inline constexpr uint64_t kDtvOffset = 0;  // from there, of the pointer to the vector of blocks
inline constexpr uint32_t kThreadOffsetRelocation = R_AARCH64_TLS_TPREL;
inline constexpr uint32_t kThreadDescriptorRelocation = R_AARCH64_TLSDESC;
// A distance, and no pointer: the static storage lies above the thread pointer, and pointers far above 0.
constexpr bool is_thread_offset(int64_t word) {
  return word > 0 && word < int64_t{1} << 24;
}

inline void fill(void* at, int value, size_t size) {
  auto* byte = static_cast<uint8_t*>(at);
  for (; size > 0; --size) {
    *byte++ = static_cast<uint8_t>(value);
    asm volatile("" ::: "memory");  // else the compiler calls memset, which this is
  }
}

// A signal handler that comes between makes the store begin again.
inline uint64_t fetch_and_increment(uint64_t& value) {
  return __atomic_fetch_add(&value, 1, __ATOMIC_RELAXED);
}

// Two words that change at once.
struct alignas(16) WordPair {
  uint64_t first, second;
};

// Compares and exchanges; false: `expected` is what was there, perhaps torn. In assembly, because compilers
// need a library for it.
inline bool replace(WordPair& pair, WordPair& expected, const WordPair& desired) {
  WordPair found;
  uint32_t replaced;
  asm volatile(
      "1: ldaxp %0, %1, %3\n\t"
      "cmp %0, %4\n\t"
      "ccmp %1, %5, #0, eq\n\t"
      "b.ne 2f\n\t"
      "stlxp %w2, %6, %7, %3\n\t"
      "cbnz %w2, 1b\n\t"
      "2: cset %w2, eq"
      : "=&r"(found.first), "=&r"(found.second), "=&r"(replaced), "+Q"(pair)
      : "r"(expected.first), "r"(expected.second), "r"(desired.first), "r"(desired.second)
      : "cc", "memory");
  expected = found;
  return replaced != 0;
}

// Whether valgrind emulates the processor: it takes these instructions, which change nothing, for a question (valgrind.h).
inline bool runs_in_valgrind() {
  const uint64_t question[6] = {0x1001};  // RUNNING_ON_VALGRIND
  register uint64_t answer asm("x3") = 0;
  register const uint64_t* asked asm("x4") = question;
  asm volatile(
      "ror x12, x12, #3; ror x12, x12, #13; ror x12, x12, #51; ror x12, x12, #61; orr x10, x10, x10"
      : "+r"(answer)
      : "r"(asked)
      : "cc", "memory");
  return answer != 0;
}

// No place is known that is always free, and that sanitizers leave to the program.
inline constexpr uint64_t kFarPlaces = 0;

inline constexpr uint32_t kAuditArchitecture = AUDIT_ARCH_AARCH64;
inline constexpr const char* kVdsoClockName = "__kernel_clock_gettime";
// The version of pthread_cond_wait and its like, as headers declare them.
inline constexpr char kConditionVersion[] = "GLIBC_2.17";
// How long the vDSO's restorer is, up to the end of the call: mov x8, #139; svc #0.
inline constexpr uint64_t kRestorerSize = 8;
// The sources of time that the vDSO reads without a system call.
inline constexpr const char* kFastClockSources[] = {"arch_sys_counter\n"};

// What the handler uses below a signal frame, with a margin.
inline constexpr size_t kHandlerSize = 4 << 10;
// The kernel's least size of an alternate stack (asm/signal.h).
inline constexpr size_t kLeastAlternateStack = 5120;
// Nothing of a signal's frame depends on what a process asks for.
inline constexpr size_t kOptionalInFrame = 0;

}  // namespace sampan::preload
