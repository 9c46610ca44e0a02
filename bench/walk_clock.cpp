// LD_PRELOAD: what one walk costs inside a real program, with the caches as the program leaves
// them. Interrupts the main thread 250 times per CPU second and walks its stack.
//
//   WALK_WITH     sampan, unw_backtrace or backtrace
//   WALK_OUTPUT   a file; when the program ends, "SECONDS WALKS FRAMES" is appended to it
//
// Time is the thread's own CPU time, so that other load of the machine does not count.
#define UNW_LOCAL_ONLY
#include <execinfo.h>
#include <libunwind.h>
#include <pthread.h>
#include <sys/time.h>
#include <ucontext.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/clock.h"
#include "unwind/registers.h"
#include "unwind/walker.h"

namespace {

using namespace sampan;

unwind::Walker walker;
unwind::LastWalk last_walk;
unwind::StackBounds bounds;
void* frames[2048];
uint64_t stack[2048];
uint64_t spent_ns, walks, walked_frames;

void account(uint64_t begin_ns, uint64_t depth) {
  spent_ns += read_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
  ++walks;
  walked_frames += depth;
}

void with_sampan(int, siginfo_t*, void* context) {
  const uint64_t begin = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
  const auto result = walker.walk(unwind::registers_of(*static_cast<const ucontext_t*>(context)),
                                  bounds, stack, &last_walk);
  account(begin, result.depth);
}

void with_libunwind(int, siginfo_t*, void*) {
  const uint64_t begin = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
  account(begin, static_cast<uint64_t>(unw_backtrace(frames, 2048)));
}

void with_glibc(int, siginfo_t*, void*) {
  const uint64_t begin = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
  account(begin, static_cast<uint64_t>(backtrace(frames, 2048)));
}

[[gnu::constructor]] void start() {
  const char* name = std::getenv("WALK_WITH");
  if (name == nullptr || !walker.start(find_object_by_loader())) return;
  pthread_attr_t attributes;
  void* low;
  size_t size;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &low, &size);
  pthread_attr_destroy(&attributes);
  bounds = {reinterpret_cast<uint64_t>(low), reinterpret_cast<uint64_t>(low) + size, true};
  backtrace(frames, 1);  // loads its library now, not in the handler

  const std::string_view with = name;
  struct sigaction action {};
  action.sa_sigaction = with == "sampan"      ? with_sampan
                        : with == "backtrace" ? with_glibc
                                              : with_libunwind;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(SIGPROF, &action, nullptr);
  const itimerval period{{0, 4000}, {0, 4000}};
  setitimer(ITIMER_PROF, &period, nullptr);
}

[[gnu::destructor]] void finish() {
  const char* path = std::getenv("WALK_OUTPUT");
  if (path == nullptr || walks == 0) return;
  signal(SIGPROF, SIG_IGN);
  if (FILE* output = std::fopen(path, "a")) {
    std::fprintf(output, "%.9f %lu %lu\n", static_cast<double>(spent_ns) / 1e9, walks,
                 walked_frames);
    std::fclose(output);
  }
}

}  // namespace
