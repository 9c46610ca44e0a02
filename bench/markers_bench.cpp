// Measures a marker beside an empty function (without sampan) and beside reading the clock
// (under sampan). Run bare and under sampan; both runs print the same rows.
#include <benchmark/benchmark.h>
#include <sampan/markers.h>
#include <time.h>

namespace {

__attribute__((noinline)) void empty() {
  asm volatile("");
}

void empty_function(benchmark::State& state) {
  for (auto _ : state) empty();
}

void read_clock(benchmark::State& state) {
  timespec now{};
  for (auto _ : state) {
    clock_gettime(CLOCK_MONOTONIC, &now);
    benchmark::DoNotOptimize(now);
  }
}

void span(benchmark::State& state) {
  for (auto _ : state) {
    sampan_span_begin("parse the request");
    benchmark::ClobberMemory();
    sampan_span_end();
    benchmark::ClobberMemory();
  }
}

void span_across(benchmark::State& state) {
  for (auto _ : state) sampan_span_stop(sampan_span_start("wait in the queue"));
}

void event(benchmark::State& state) {
  for (auto _ : state) sampan_event("cache full");
}

void counter(benchmark::State& state) {
  for (auto _ : state) sampan_counter_add("requests", 1);
}

BENCHMARK(empty_function);
BENCHMARK(read_clock);
BENCHMARK(span);
BENCHMARK(span)->Name("span_of_two_threads")->Threads(2)->UseRealTime();
BENCHMARK(span_across);
BENCHMARK(event);
BENCHMARK(counter);

}  // namespace

BENCHMARK_MAIN();
