// The collector in a long session with stacks like clang's, 47 frames of which the 12 nearest the leaf are new each
// time: long_session SAMPLES HZ FILE. Prints a line for each tenth of the samples: the most memory that was resident so far in KB, and for
// each sample nanoseconds of CPU and bytes of the recording.
#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "base/clock.h"
#include "recording/writer.h"

using namespace sampan::recording;
using sampan::MonotonicNs, sampan::SessionNs;

namespace {

constexpr size_t kDepth = 47;
constexpr size_t kNew = 12;
constexpr uint64_t kCodeSize = 40 << 20;

uint64_t most_resident_kb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::strtoull(line.c_str() + 6, nullptr, 10);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: long_session SAMPLES HZ FILE\n");
    return 2;
  }
  const uint64_t tenth = std::strtoull(argv[1], nullptr, 10) / 10;
  const uint64_t rate_hz = std::strtoull(argv[2], nullptr, 10);
  const uint64_t period_ns = 1'000'000'000 / rate_hz;

  Writer writer(argv[3], Session{});
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
  uint64_t cpu_ns = sampan::read_clock_ns(CLOCK_PROCESS_CPUTIME_ID), bytes = 0;
  for (uint64_t i = 0; i < 10 * tenth; ++i) {
    for (size_t depth = 0; depth < kNew; ++depth) stack[depth].address = any_site();
    const uint64_t jitter = random() % 20'000;
    writer.add(Sample{thread,
                      writer.stack(stack),
                      SessionNs::at(i * period_ns + jitter),
                      period_ns + jitter,
                      {}});
    if (i % rate_hz == 0) writer.tick(MonotonicNs::at(i * period_ns));
    if ((i + 1) % tenth != 0) continue;
    const uint64_t cpu_now_ns = sampan::read_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    const uint64_t bytes_now = std::filesystem::file_size(argv[3]);
    fmt::print("{} {:.1f} {:.1f}\n", most_resident_kb(),
               static_cast<double>(cpu_now_ns - cpu_ns) / static_cast<double>(tenth),
               static_cast<double>(bytes_now - bytes) / static_cast<double>(tenth));
    cpu_ns = cpu_now_ns;
    bytes = bytes_now;
  }
  writer.finish({});
  return 0;
}
