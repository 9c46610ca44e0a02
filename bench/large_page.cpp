// large_page OUTPUT.html SAMPLES THREADS STACKS: writes the page of a synthetic profile of that
// size. Prints the seconds that writing it took.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <random>
#include <string>

#include "exporters/exporter.h"
#include "profile/profile.h"
#include "profile/view.h"

namespace {

using namespace sampan;

constexpr uint32_t kFunctions = 20'000;
constexpr uint32_t kDepth = 60;
constexpr uint64_t kPeriod = 4'000'000;  // ns

// Each function has three lines that call others.
void add_functions(profile::Profile* profile) {
  profile->modules.emplace_back().path = "/usr/bin/program";
  for (uint32_t i = 0; i < kFunctions; ++i) {
    const uint32_t file = profile->strings.intern(fmt::format("/src/program/file_{}.cpp", i / 20));
    profile->functions.push_back(
        {.name = profile->strings.intern(fmt::format(
             "program::detail::Visitor<program::Node<{}>, std::allocator<char>>::visit_{}(int)",
             i % 97, i)),
         .file = file,
         .line = i % 1000 + 1,
         .module = 0});
    for (uint32_t line = 0; line < 3; ++line) {
      profile->locations.push_back({.module = 0,
                                    .address = 0x1000 + 48 * i + 16 * line,
                                    .first_line = static_cast<uint32_t>(profile->lines.size()),
                                    .line_count = 1});
      profile->lines.push_back({.function = i, .file = file, .line = i % 1000 + 5 + line});
    }
  }
}

// Each stack shares callers with one that was added shortly before it.
void add_stacks(profile::Profile* profile, uint32_t count, std::mt19937* random) {
  std::vector<uint32_t> depths;
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t prefix = profile::kNone;
    if (i != 0) prefix = i - 1 - static_cast<uint32_t>((*random)()) % std::min(i, 4 * kDepth);
    while (prefix != profile::kNone && depths[prefix] >= kDepth) {
      prefix = profile->stacks[prefix].prefix;
    }
    depths.push_back(prefix == profile::kNone ? 1 : depths[prefix] + 1);
    profile->stacks.push_back(
        {prefix, static_cast<uint32_t>((*random)() % profile->locations.size())});
  }
}

profile::Profile made_up(uint64_t samples, uint32_t threads, uint32_t stacks) {
  std::mt19937 random(1);
  profile::Profile profile;
  profile.session.program = "program";
  profile.session.rate_hz = 250;
  profile::Process& process = profile.processes.emplace_back();
  process.pid = 100;
  process.name = "program";
  for (uint32_t i = 0; i < threads; ++i) {
    profile::Thread& thread = profile.threads.emplace_back();
    thread.process = 0;
    thread.tid = static_cast<int32_t>(100 + i);
    thread.name = fmt::format("worker-{}", i);
    thread.is_main = i == 0;
  }
  add_functions(&profile);
  add_stacks(&profile, stacks, &random);
  for (uint64_t i = 0; i < samples; ++i) {
    const auto thread = static_cast<uint32_t>(i % threads);
    const auto time_ns = SessionNs::at((i / threads + 1) * kPeriod + random() % (kPeriod / 2));
    const uint64_t weight_ns = kPeriod - random() % 200'000;
    // Every stack once, then random ones.
    const auto stack = static_cast<uint32_t>(i < stacks ? i : random() % stacks);
    profile.samples.push_back({time_ns, weight_ns, thread, stack, profile::kNone, true});
    profile.threads[thread].sampled_cpu_ns += weight_ns;
    ++profile.threads[thread].samples;
  }
  std::stable_sort(profile.samples.begin(), profile.samples.end(),
                   [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  return profile;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 5) {
    fmt::print(stderr, "usage: large_page OUTPUT.html SAMPLES THREADS STACKS\n");
    return 2;
  }
  const auto number = [&](int i) { return std::strtoul(argv[i], nullptr, 10); };
  const profile::Profile profile =
      made_up(number(2), static_cast<uint32_t>(number(3)), static_cast<uint32_t>(number(4)));
  const profile::View view = profile::select(profile);
  const auto begin = std::chrono::steady_clock::now();
  const exporters::Format& html = exporters::format("html");
  for (const std::string& note : html.write(view, argv[1], html.max_size).notes) {
    fmt::print(stderr, "{}\n", note);
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  fmt::print("{:.3f}\n", taken.count());
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
