// Measures a marker beside an empty function (without sampan) and beside reading the clock
// (under sampan). Run bare and under sampan; both runs print the same rows.
#include <benchmark/benchmark.h>
#include <sampan/markers.h>
#include <time.h>

#include <memory>

#include "preload/process/process.h"
#include "preload/tracing/otel_place.h"
#include "preload/tracing/thread_context.h"

// What the handler reads is in this program, and no shim.
void sampan::preload::count_loss(wire::Loss, uint64_t) {}

namespace {

using namespace sampan;

// As an OpenTelemetry library has them (OTEP 4947).
struct Record {
  uint8_t trace_id[16] = {1};
  uint8_t span_id[8] = {2};
  uint8_t valid = 1, flags = 0;
  uint16_t attributes = 0;
};
thread_local const Record* published;
thread_local Record own_record;

// The part of a sample that reads for which request its thread works.
void read_context(benchmark::State& state, const Record* record) {
  static wire::ShownContext shown;
  preload::TraceState trace{};
  preload::prepare_trace(trace, shown);
  trace.may_read = true;
  const auto distance = reinterpret_cast<uint64_t>(&published) - preload::thread_pointer();
  preload::otel_places[0] =
      preload::OtelPlace::in_static_storage(static_cast<int64_t>(distance)).word();
  published = record;
  for (auto _ : state) {
    preload::read_context(trace, {0, 0, true}, false);
    benchmark::ClobberMemory();
  }
  if (trace.current.is_set() != (record != nullptr))
    state.SkipWithError("the context was not read");
  published = nullptr;
}

void context_none(benchmark::State& state) {
  read_context(state, nullptr);
}
void context_of_thread(benchmark::State& state) {
  read_context(state, &own_record);
}
void context_elsewhere(benchmark::State& state) {
  const auto record = std::make_unique<Record>();
  read_context(state, record.get());
}

void set_context(benchmark::State& state) {
  const Record ids;
  for (auto _ : state) sampan_context(ids.trace_id, ids.span_id);
}

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
BENCHMARK(set_context);
BENCHMARK(context_none);
BENCHMARK(context_of_thread);
BENCHMARK(context_elsewhere);

}  // namespace

BENCHMARK_MAIN();
