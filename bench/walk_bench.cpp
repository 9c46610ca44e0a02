// One walk of a stack of known depth, in a loop, with the cache of rows warm, or emptied before
// each walk; and libunwind on the same stack. Reported per frame.
//
// A loop keeps everything in the first-level cache. walk_clock.cpp measures a walk in a real
// program, with the caches as the program leaves them.
#define UNW_LOCAL_ONLY
#include <benchmark/benchmark.h>
#include <libunwind.h>
#include <pthread.h>
#include <ucontext.h>

#include <cstdint>

#include "unwind/walker.h"

namespace {

using namespace sampan::unwind;

Walker walker;

StackBounds this_stack() {
  pthread_attr_t attributes;
  pthread_getattr_np(pthread_self(), &attributes);
  void* low = nullptr;
  size_t size = 0;
  pthread_attr_getstack(&attributes, &low, &size);
  pthread_attr_destroy(&attributes);
  const uint64_t start = reinterpret_cast<uint64_t>(low);
  return {start, start + size, false};
}

Registers registers_here() {
  Registers registers{};
  ucontext_t context;
  getcontext(&context);
  const greg_t* from = context.uc_mcontext.gregs;
  const int source[kRegisterCount] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                      REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                      REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
  for (unsigned i = 0; i < kRegisterCount; ++i) {
    registers.value[i] = static_cast<uint64_t>(from[source[i]]);
  }
  return registers;
}

using Body = void (*)(benchmark::State&);

[[gnu::noipa]] int at_depth(int64_t depth, Body body, benchmark::State& state) {
  if (depth == 0) {
    body(state);
    return 0;
  }
  const int result = at_depth(depth - 1, body, state) + 1;
  asm volatile("" : : "r"(result) : "memory");
  return result;
}

template <bool kCold>
void walk(benchmark::State& state) {
  walker.start(find_object_by_loader());
  const Registers registers = registers_here();
  const StackBounds stack = this_stack();
  static uint64_t frames[2048];
  uint32_t depth = 0;
  for (auto _ : state) {
    if (kCold) {
      walker.begin_unload();
      walker.end_unload();
    }
    const WalkResult result = walker.walk(registers, stack, frames);
    depth = result.depth;
    if (result.stop != sampan::wire::StopReason::kRoot) state.SkipWithError("incomplete stack");
  }
  state.counters["frames"] = depth;
  state.counters["per_frame"] = benchmark::Counter(
      depth, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void libunwind_backtrace(benchmark::State& state) {
  void* frames[2048];
  int depth = 0;
  for (auto _ : state) depth = unw_backtrace(frames, 2048);
  state.counters["frames"] = depth;
  state.counters["per_frame"] = benchmark::Counter(
      depth, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void walk_warm(benchmark::State& state) {
  at_depth(state.range(0), walk<false>, state);
}
void walk_cold(benchmark::State& state) {
  at_depth(state.range(0), walk<true>, state);
}
void unw_backtrace(benchmark::State& state) {
  at_depth(state.range(0), libunwind_backtrace, state);
}

// A stack of distinct functions, so that an emptied cache misses at each frame.
template <int kIndex>
[[gnu::noipa]] int distinct(Body body, benchmark::State& state) {
  int result = kIndex;
  if constexpr (kIndex == 0) {
    body(state);
  } else {
    result += distinct<kIndex - 1>(body, state);
  }
  asm volatile("" : : "r"(result) : "memory");
  return result;
}
void distinct_warm(benchmark::State& state) {
  distinct<40>(walk<false>, state);
}
void distinct_cold(benchmark::State& state) {
  distinct<40>(walk<true>, state);
}

BENCHMARK(walk_warm)->Arg(10)->Arg(30)->Arg(100);
BENCHMARK(unw_backtrace)->Arg(10)->Arg(30)->Arg(100);
BENCHMARK(walk_cold)->Arg(30);
BENCHMARK(distinct_warm);
BENCHMARK(distinct_cold);

}  // namespace

BENCHMARK_MAIN();
