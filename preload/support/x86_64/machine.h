// What the shim needs of x86-64 beyond C++.
//
// Freestanding: linked into the target.
#pragma once

#include <elf.h>
#include <linux/audit.h>
#include <pthread.h>

#include <cstddef>
#include <cstdint>

namespace sampan::preload {

// pthread_self() without a call: what glibc's returns. Async-signal-safe.
inline pthread_t this_pthread() {
  pthread_t self;
  asm("mov %%fs:0x10, %0" : "=r"(self));
  return self;
}
inline void find_this_pthread() {}

// Thread-local storage lies at distances from here. glibc's descriptor of the thread begins there.
inline uint64_t thread_pointer() {
  return this_pthread();
}
inline constexpr uint64_t kDtvOffset = 8;  // from there, of the pointer to the vector of blocks
inline constexpr uint32_t kThreadOffsetRelocation = R_X86_64_TPOFF64;
inline constexpr uint32_t kThreadDescriptorRelocation = R_X86_64_TLSDESC;
// A distance, and no pointer: the static storage lies below the thread pointer.
constexpr bool is_thread_offset(int64_t word) {
  return word < 0;
}

inline void fill(void* at, int value, size_t size) {
  asm volatile("rep stosb" : "+D"(at), "+c"(size) : "a"(value) : "memory");
}

// One instruction, so that no signal handler of the same thread comes between. Not atomic for others.
inline uint64_t fetch_and_increment(uint64_t& value) {
  uint64_t before = 1;
  asm volatile("xadd %0, %1" : "+r"(before), "+m"(value) : : "cc", "memory");
  return before;
}

// Two words that change at once.
struct alignas(16) WordPair {
  uint64_t first, second;
};

// Compares and exchanges; false: `expected` is what was there. In assembly, because compilers need an option
// or a library for it.
inline bool replace(WordPair& pair, WordPair& expected, const WordPair& desired) {
  bool replaced = false;
  asm volatile("lock cmpxchg16b %1"
               : "=@ccz"(replaced), "+m"(pair), "+a"(expected.first), "+d"(expected.second)
               : "b"(desired.first), "c"(desired.second)
               : "memory");
  return replaced;
}

// Whether valgrind emulates the processor: it takes these instructions, which change nothing, for a question (valgrind.h).
inline bool runs_in_valgrind() {
  const uint64_t question[6] = {0x1001};  // RUNNING_ON_VALGRIND
  uint64_t answer = 0;
  asm volatile(
      "rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi; xchgq %%rbx, %%rbx"
      : "+d"(answer)
      : "a"(question)
      : "cc", "memory");
  return answer != 0;
}

// From here on 300 GB are below all programs that may lie anywhere (ELF_ET_DYN_BASE of the kernel), whose heaps grow upwards.
// The runtimes of sanitizers take it for the program's: elsewhere they have their shadows.
inline constexpr uint64_t kFarPlaces = uint64_t{0x5500} << 32;

inline constexpr uint32_t kAuditArchitecture = AUDIT_ARCH_X86_64;
inline constexpr const char* kVdsoClockName = "__vdso_clock_gettime";
// The version of pthread_cond_wait and its like, as headers declare them.
inline constexpr char kConditionVersion[] = "GLIBC_2.3.2";
// How long libc's restorer is, up to the end of the call: mov $15, %rax; syscall.
inline constexpr uint64_t kRestorerSize = 9;
// The sources of time that the vDSO reads without a system call.
inline constexpr const char* kFastClockSources[] = {"tsc\n", "kvm-clock\n",
                                                    "hyperv_clocksource_tsc_page\n"};

// What the handler uses below a signal frame, with a margin.
inline constexpr size_t kHandlerSize = 3 << 10;
// The kernel's least size of an alternate stack, without AMX (asm/signal.h).
inline constexpr size_t kLeastAlternateStack = 2048;
// The largest frame of a machine with AMX has 8 KB of tiles (XTILEDATA). A process must ask for them
// first, and then the kernel refuses stacks that have no room for them (sigaltstack_size_valid in
// arch/x86/kernel/signal.c). So there are no tiles where the program has a smaller one.
inline constexpr size_t kOptionalInFrame = 8 << 10;

}  // namespace sampan::preload
