// How many bytes a sample costs, flushed once a second at 250 Hz, with streams that are made like
// those of real programs (docs/recording.md has the real ones): at most 60 for clang, 12 for
// programs of few stacks. The bounds here are nearer to what is reached, to notice a loss.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <random>

#include "recording/example.h"

namespace sampan::recording {
namespace {

constexpr uint64_t kPeriod = 4'000'000;  // ns: 250 Hz

// A walk through the call graph of a large program: from one sample to the next the stack keeps
// its root side, and the rest is new, made of frames of which a few are very common.
class DeepStacks {
 public:
  std::vector<Frame> next() {
    const size_t fresh = 6 + random_() % 13;  // 12 on average
    stack_.resize(stack_.size() > fresh ? stack_.size() - fresh : 0);
    while (stack_.size() < 47) stack_.push_back(frame());
    return {stack_.rbegin(), stack_.rend()};
  }

 private:
  Frame frame() {
    const double rank = std::pow(60'000.0, std::uniform_real_distribution<>(0, 1)(random_));
    return {0, static_cast<uint64_t>(rank) * 2654435761 % 50'000'000};
  }
  std::mt19937_64 random_{7};
  std::vector<Frame> stack_;
};

// A program that is somewhere in a few hot functions.
class FewStacks {
 public:
  std::vector<Frame> next() {
    std::geometric_distribution<uint64_t> pick(0.02);
    const uint64_t leaf = pick(random_);
    return {{0, 0x1000 + leaf * 7}, {0, 0x9000 + leaf % 9 * 64}, {0, 0x20000}, {1, 0x2724a}};
  }

 private:
  std::mt19937_64 random_{7};
};

template <typename Stacks>
double bytes_per_sample(Stacks stacks, int samples, int threads) {
  const test::ScratchDirectory directory;
  const std::string path = directory.file("a.sampan");
  Writer writer(path, example_session());
  const uint32_t process = writer.add(Process{1, 0, 0, "/usr/bin/program"});
  writer.add(Module{"/usr/bin/program", std::vector<uint8_t>(20, 1), 0, 1 << 20});
  writer.add(Module{"/lib/x86_64-linux-gnu/libc.so.6", std::vector<uint8_t>(20, 2), 0, 1 << 20});
  for (int i = 0; i < threads; ++i) writer.add(Thread{process, 1 + i, 0, "worker"});
  std::mt19937_64 random(1);
  std::normal_distribution<> jitter(0, 5000);  // ns
  std::vector<SessionNs> times(static_cast<size_t>(threads));
  for (int i = 0; i < samples; ++i) {
    const auto thread = static_cast<uint32_t>(i % threads);
    const uint64_t delta = kPeriod + static_cast<uint64_t>(std::lround(jitter(random)));
    times[thread] += delta;
    writer.add(Sample{thread, writer.stack(stacks.next()), times[thread], delta - random() % 3000,
                      wire::StopReason::kRoot});
    writer.tick(MonotonicNs::at(uint64_t{times[thread]}));
  }
  writer.finish({});
  EXPECT_EQ(read(path).samples.size(), static_cast<size_t>(samples));
  return static_cast<double>(bytes_of(path).size()) / samples;
}

TEST(Size, OfDeepAndMostlyNewStacks) {
  EXPECT_LE(bytes_per_sample(DeepStacks(), 15'000, 1), 45);
}

TEST(Size, OfFewStacks) {
  EXPECT_LE(bytes_per_sample(FewStacks(), 2'500, 1), 9);
  EXPECT_LE(bytes_per_sample(FewStacks(), 5'000, 2), 9);
}

uint64_t peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::strtoull(line.c_str() + 6, nullptr, 10) * 1024;
  }
  return 0;
}

// An hour of deep stacks has eleven million rows of stacks; a quarter of it fills the tables.
TEST(Size, OfTheWriterIsBounded) {
  const test::ScratchDirectory directory;
  Writer writer(directory.file("a.sampan"), {});
  const uint32_t thread = writer.add(Thread{writer.add(Process{}), 1, 0, ""});
  writer.add(Module{});
  DeepStacks stacks;
  const uint64_t before = peak_memory();
  for (uint64_t i = 0; i < 225'000; ++i) {
    writer.add(
        Sample{thread, writer.stack(stacks.next()), SessionNs::at(i * kPeriod), kPeriod, {}});
    writer.tick(MonotonicNs::at(i * kPeriod));
  }
  EXPECT_LE(peak_memory() - before, 120u << 20);
}

}  // namespace
}  // namespace sampan::recording
