// The collector's memory after an hour at 250 Hz with stacks like clang's: 900,000 samples of 47
// frames, of which the 12 nearest the leaf are new each time. Prints the peak resident memory in
// KB, and the bytes per sample in the recording.
#include <fmt/core.h>
#include <sys/resource.h>

#include <cstdio>
#include <filesystem>
#include <random>
#include <vector>

#include "recording/writer.h"

using namespace sampan::recording;
using sampan::MonotonicNs, sampan::SessionNs;

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: collector_hour FILE\n");
    return 2;
  }
  constexpr uint64_t kSamples = 3600 * 250;
  constexpr size_t kDepth = 47;
  constexpr size_t kNew = 12;
  constexpr uint64_t kPeriod = 4'000'000;
  constexpr uint64_t kCodeSize = 40 << 20;

  Writer writer(argv[1], Session{});
  const uint32_t process = writer.add(Process{100, 1, 0, "/usr/bin/clang"});
  const uint32_t thread = writer.add(Thread{process, 100, 0, "clang"});
  const uint32_t module = writer.add(Module{"/usr/lib/libclang.so", {1, 2, 3}, 0, kCodeSize});

  std::mt19937_64 random(4711);
  // Each function is called from few places: 100,000 call sites, some much hotter than others.
  std::vector<uint64_t> sites(100'000);
  for (uint64_t& site : sites) site = random() % kCodeSize;
  const auto any_site = [&] {
    const double skewed = std::generate_canonical<double, 32>(random);
    return sites[static_cast<size_t>(skewed * skewed * static_cast<double>(sites.size()))];
  };
  std::vector<Frame> stack(kDepth, Frame{module, 0});
  for (Frame& frame : stack) frame.address = any_site();
  for (uint64_t i = 0; i < kSamples; ++i) {
    for (size_t depth = 0; depth < kNew; ++depth) stack[depth].address = any_site();
    const uint64_t jitter = random() % 20'000;
    writer.add(Sample{
        thread, writer.stack(stack), SessionNs::at(i * kPeriod + jitter), kPeriod + jitter, {}});
    if (i % 250 == 0) writer.tick(MonotonicNs::at(i * kPeriod));
  }
  writer.finish({});
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("{} {:.1f}\n", usage.ru_maxrss,
             static_cast<double>(std::filesystem::file_size(argv[1])) / kSamples);
  return 0;
}
