// Functions without unwind information, as assembly written by hand has none, and one whose
// information is wrong. Each uses a fifth of the CPU.
//
//   uncovered CPU_SECONDS
//
// `framed` has a frame pointer. `pointer_in_fp` keeps the address of {0, &never_called} in the frame
// pointer's register, as codecs keep tables of functions. `counter_in_fp` calls covered code with 0 there.
// `pointer_in_scratch` calls a function while its stack pointer is in a register that this one leaves alone, as
// x264's do. `unadjusted` has a table that does not know what it has pushed. The folders of the processors have
// their code. Prints "cpu FUNCTION SECONDS" for each.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "work.h"

// What the calls below lead to. It has unwind information and leaves the frame pointer alone.
extern "C" __attribute__((noinline, used)) void covered(uint64_t turns) {
  for (uint64_t i = 0; i < turns; ++i) asm volatile("" : "+r"(i));
}
extern "C" __attribute__((noinline, used)) void never_called() {
  std::abort();
}

// turns, and what goes into the frame pointer
extern "C" void framed(uint64_t turns, const void* unused);
extern "C" void pointer_in_fp(uint64_t turns, const void* data);
extern "C" void counter_in_fp(uint64_t turns, const void* zero);
extern "C" void pointer_in_scratch(uint64_t turns, const void* unused);
extern "C" void unadjusted(uint64_t turns, const void* unused);

namespace {

// By so many turns at a time that the clock's own time does not matter.
constexpr uint64_t kTurns = 200'000;

void use(const char* name, void (*function)(uint64_t, const void*), const void* data,
         double seconds) {
  const double begin = work::thread_cpu();
  while (work::thread_cpu() - begin < seconds) function(kTurns, data);
  std::printf("cpu %s %f\n", name, work::thread_cpu() - begin);
}

}  // namespace

int main(int, char** argv) {
  const double seconds = std::atof(argv[1]) / 5;
  const volatile uint64_t pair[] = {0, reinterpret_cast<uint64_t>(&never_called)};
  use("framed", framed, nullptr, seconds);
  use("pointer_in_fp", pointer_in_fp, const_cast<const uint64_t*>(pair), seconds);
  use("counter_in_fp", counter_in_fp, nullptr, seconds);
  use("pointer_in_scratch", pointer_in_scratch, nullptr, seconds);
  use("unadjusted", unadjusted, nullptr, seconds);
}
