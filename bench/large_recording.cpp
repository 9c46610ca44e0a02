// large_recording SOURCE OUTPUT SAMPLES: writes a recording of that many samples, on 16 threads.
// The stacks are those of the recording SOURCE, in its order, repeated.
#include <fmt/core.h>

#include <cstdlib>
#include <exception>
#include <vector>

#include "recording/reader.h"
#include "recording/writer.h"

namespace {

using namespace sampan::recording;
using sampan::MonotonicNs, sampan::SessionNs;

// Returns the time of the last sample, ns.
SessionNs repeat(const Recording& source, Writer& writer, uint64_t samples) {
  constexpr uint32_t kThreads = 16;
  constexpr uint64_t kPeriod = 4'000'000;
  std::vector<uint32_t> modules, stacks;
  for (const Module& module : source.modules) modules.push_back(writer.add(module));
  for (const Stack& stack : source.stacks) {
    Frame frame = source.frames[stack.frame];
    if (frame.module != kNone) frame.module = modules[frame.module];
    const uint32_t prefix = stack.prefix == kNone ? kNone : stacks[stack.prefix];
    stacks.push_back(writer.stack(prefix, writer.frame(frame)));
  }
  const uint32_t process = writer.add(Process{100, 1, 0, source.processes.at(0).name});
  std::vector<uint32_t> threads;
  for (uint32_t i = 0; i < kThreads; ++i) {
    threads.push_back(
        writer.add(Thread{process, static_cast<int32_t>(100 + i), 0, fmt::format("worker-{}", i)}));
  }
  SessionNs time_ns = 0;
  for (uint64_t i = 0; i < samples; ++i) {
    const uint32_t thread = static_cast<uint32_t>(i % kThreads);
    const uint64_t step = i / kThreads + 1;
    Sample sample = source.samples[(step + thread * 997) % source.samples.size()];
    sample.thread = threads[thread];
    if (sample.stack != kNone) sample.stack = stacks[sample.stack];
    sample.time_ns = time_ns = SessionNs::at(step * kPeriod + thread * 1000);
    sample.weight_ns = kPeriod;
    sample.wait = kNone;
    writer.add(sample);
    if (i % 1000 == 0) writer.tick(MonotonicNs::at(uint64_t{sample.time_ns}));
  }
  return time_ns;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 4) {
    fmt::print(stderr, "usage: large_recording SOURCE OUTPUT SAMPLES\n");
    return 2;
  }
  const Recording source = read(argv[1]);
  Writer writer(argv[2], source.session);
  SessionEnd end;
  end.time_ns = repeat(source, writer, std::strtoull(argv[3], nullptr, 10));
  writer.finish(end);
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
