// A service that names what it does: one thread answers requests, each a section, and does something
// else between them; another works all the time. Then a phase of both.
#include <pthread.h>

#include <atomic>
#include <string>
#include <thread>

#include "sampan/markers.h"
#include "work.h"

namespace {

constexpr int kRequests = 4;
constexpr double kPart = 0.12;  // seconds of CPU
std::atomic<bool> done = false;

// The assembler comments keep the compiler from merging functions that do the same.
__attribute__((noinline)) void answer() {
  work::burn(kPart);
  asm volatile("# answer");
}

__attribute__((noinline)) void between() {
  work::burn(kPart);
  asm volatile("# between");
}

__attribute__((noinline)) void phase() {
  work::burn(kPart);
  asm volatile("# phase");
}

void serve() {
  pthread_setname_np(pthread_self(), "server");
  for (int i = 1; i <= kRequests; ++i) {
    between();
    const std::string name = "infer_" + std::to_string(i);
    const sampan::ThreadSection section(name.c_str());
    const sampan::Span span("answer", name.c_str());
    answer();
    sampan_counter_set("answered", i);
  }
  between();
  const sampan::Section section("../phase 1;\n");
  phase();
}

void beside() {
  pthread_setname_np(pthread_self(), "beside");
  while (!done) work::burn(kPart / 10);
}

}  // namespace

int main() {
  std::thread other(beside);
  std::thread server(serve);
  server.join();
  done = true;
  other.join();
}
