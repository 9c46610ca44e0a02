// What the guide's examples speak of: the threads worker-1 and worker-2, the function compress_block, spans called "answer",
// sections called infer_1, infer_2…, a counter, requests of traces 1…, 2…
#include <pthread.h>
#include <sampan/markers.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

__attribute__((noinline)) static unsigned compress_block(unsigned value, double seconds) {
  timespec now;
  const auto used = [&] {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return double(now.tv_sec) + double(now.tv_nsec) / 1e9;
  };
  for (const double end = used() + seconds; used() < end;) {
    for (int i = 0; i < 1000; ++i) value = value * 1664525 + 1013904223;
  }
  return value;
}

static void work(int number, int requests) {
  pthread_setname_np(pthread_self(), ("worker-" + std::to_string(number)).c_str());
  for (int i = 0; i < requests; ++i) {
    const std::string name = "infer_" + std::to_string(i);
    sampan::Section section{name.c_str()};
    sampan::Span span{"answer", name.c_str()};
    const uint8_t trace_id[16] = {uint8_t(i + 1), 1}, span_id[8] = {uint8_t(number)};
    sampan_context(trace_id, span_id);
    sampan_counter_set("queue length", requests - i);
    std::free(std::malloc(compress_block(unsigned(i), 0.02 + 0.03 * (i % 10 == 0)) % 100));
  }
}

int main(int argc, char** argv) {
  const int requests = argc > 1 ? std::atoi(argv[1]) : 60;
  std::thread first(work, 1, requests), second(work, 2, requests);
  first.join();
  second.join();
  std::puts("done");
}
