#include <gtest/gtest.h>

#include "base/error.h"
#include "profile/frames.h"
#include "profile/load.h"
#include "profile/view.h"
#include "profile/weights.h"

namespace sampan::profile {
namespace {

using wire::StopReason;

recording::Recording example() {
  recording::Recording from;
  from.session.program = "app";
  from.processes = {{100, 1, 5, "/usr/bin/app"}, {200, 100, 50, "sh"}};
  from.process_ends = {{0, 900, 70, 3, {}, false}};
  from.threads = {{0, 100, 5, "app"}, {0, 101, 6, "app"}, {1, 200, 50, "sh"}};
  from.thread_names = {{1, 20, "late"}, {1, 10, "early"}, {1, 30, "worker"}};
  from.thread_ends = {{1, 800, 33}};
  from.modules = {{"/usr/bin/app", {}, 0, 0}};
  from.frames = {{0, 0x10}, {0, 0x20}};
  from.stacks = {{kNone, 0}, {0, 1}};
  from.samples = {{0, 1, 40, 4, StopReason::kRoot},
                  {0, 0, 60, 5, StopReason::kNoRule},
                  {1, 1, 10, 7, StopReason::kRoot},
                  {1, kNone, 50, 8, StopReason::kRoot}};
  from.losses.resize(3);
  from.losses[0].process = from.losses[2].process = 0;
  from.losses[1].process = 1;
  from.losses[0].count[0] = 2;
  from.losses[1].count[0] = 10;
  from.losses[2].count[0] = 5;
  from.damage = {"a scratch"};
  return from;
}

TEST(Load, AddsUpThreads) {
  const Profile profile = load(example());
  ASSERT_EQ(profile.threads.size(), 3u);
  const Thread& main = profile.threads[0];
  EXPECT_TRUE(main.is_main);
  EXPECT_EQ(main.samples, 2u);
  EXPECT_EQ(main.sampled_cpu_ns, 9u);
  EXPECT_EQ(main.complete_stacks, 1u);
  EXPECT_FALSE(main.cpu_ns);
  const Thread& worker = profile.threads[1];
  EXPECT_FALSE(worker.is_main);
  EXPECT_EQ(worker.name, "worker");
  EXPECT_EQ(worker.sampled_cpu_ns, 15u);
  EXPECT_EQ(worker.complete_stacks, 1u) << "no stack is no complete stack";
  EXPECT_EQ(worker.cpu_ns, 33u);
  EXPECT_EQ(worker.end_ns, 800u);
  EXPECT_EQ(profile.threads[2].samples, 0u);
}

TEST(Load, NamesProcessesByTheirFile) {
  const Profile profile = load(example());
  EXPECT_EQ(profile.processes[0].name, "app");
  EXPECT_EQ(profile.processes[0].path, "/usr/bin/app");
  EXPECT_EQ(profile.processes[1].name, "sh");
  EXPECT_EQ(profile.processes[0].cpu_ns, 70u);
  EXPECT_EQ(profile.processes[0].exit_status, 3);
  EXPECT_FALSE(profile.processes[1].end_ns);
}

TEST(Load, SortsSamplesAndCountsStopsAndLosses) {
  const Profile profile = load(example());
  std::vector<uint64_t> times;
  for (const Sample& sample : profile.samples) times.push_back(sample.time_ns);
  EXPECT_EQ(times, (std::vector<uint64_t>{10, 40, 50, 60}));
  EXPECT_EQ(profile.duration_ns(), 60u);
  EXPECT_EQ(profile.stops[static_cast<size_t>(StopReason::kRoot)], 3u);
  EXPECT_EQ(profile.stops[static_cast<size_t>(StopReason::kNoRule)], 1u);
  EXPECT_EQ(profile.losses[0], 15u) << "the last row of each process";
  EXPECT_EQ(profile.damage, std::vector<std::string>{"a scratch"});
}

TEST(Load, CallsOfALineAreFramesOfTheirOwn) {
  recording::Recording from = example();
  from.names.texts = {"", "run", "w.py"};
  from.names.functions = {{1, 2, 3, kNone}};
  from.names.frames = {{0, 1}, {1, 1}};
  from.names.lines = {{0, 2, 5, 9}, {0, 2, 5, 30}};
  const Profile profile = load(std::move(from));
  std::vector<Frame> frames;
  leaf_to_root(profile, 1, &frames);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].function, frames[1].function);
  EXPECT_EQ(frames[0].line, frames[1].line);
  EXPECT_EQ(frames[0].column, 30u);
  EXPECT_EQ(frames[1].column, 9u);
  const recording::Names names = names_to_record(profile);
  ASSERT_EQ(names.lines.size(), 2u);
  EXPECT_EQ(names.lines[0].column, 9u);
  EXPECT_EQ(names.lines[1].column, 30u);
}

TEST(Load, MakesWaitsTheLeavesOfStacks) {
  recording::Recording from = example();
  from.session.clock = "wall";
  from.waits = {{"read", "pipe:[7]"}, {recording::kRunnable, ""}, {"futex", ""}};
  from.samples.push_back({1, 1, 70, 30, StopReason::kRoot, 0});
  from.samples.push_back({1, 1, 80, 10, StopReason::kRoot, 0});
  from.samples.push_back({1, kNone, 90, 6, StopReason::kRoot, 1});
  const Profile profile = load(std::move(from));
  EXPECT_EQ(profile.threads[1].sampled_cpu_ns, 15u);
  EXPECT_EQ(profile.threads[1].waiting_ns, 40u);
  EXPECT_EQ(profile.threads[1].runnable_ns, 6u);
  EXPECT_EQ(profile.threads[1].complete_stacks, 4u) << "who waits for a CPU was not looked at";

  ASSERT_EQ(profile.samples.size(), 7u);
  const Sample& reading = profile.samples[4];
  EXPECT_EQ(profile.samples[5].stack, reading.stack);
  const Stack& leaf = profile.stacks[reading.stack];
  EXPECT_EQ(leaf.prefix, 1u);
  EXPECT_EQ(wait_name(profile.waits[profile.locations[leaf.location].wait]), "[read pipe:[7]]");
  const Stack& runnable = profile.stacks[profile.samples[6].stack];
  EXPECT_EQ(runnable.prefix, kNone);
  EXPECT_EQ(wait_name(profile.waits[profile.locations[runnable.location].wait]),
            "[waiting for a CPU]");
  EXPECT_EQ(wait_name(profile.waits[2]), "[futex]");

  EXPECT_EQ(total_weight(select(profile)).ns, 24u + 46u);
  Selection cpu, waiting;
  cpu.state = State::kCpu;
  waiting.state = State::kWaiting;
  EXPECT_EQ(total_weight(select(profile, cpu)), (Weight{24, 4}));
  EXPECT_EQ(total_weight(select(profile, waiting)), (Weight{46, 3}));
}

TEST(Load, WithoutWaitsThereIsNothingToSelect) {
  Selection waiting;
  waiting.state = State::kWaiting;
  try {
    select(load(example()), waiting);
    FAIL() << "must throw";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "the recording has no waiting samples: record with --clock wall");
  }
}

TEST(Load, KeepsFramesAsLocationsWithoutLines) {
  const Profile profile = load(example());
  std::vector<Frame> frames;
  root_to_leaf(profile, 1, &frames);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(profile.locations[frames[1].location].address, 0x20u);
  EXPECT_EQ(frames[1].function, kNone);
  EXPECT_EQ(function_name(profile, frames[1].function), "[unknown]");
  EXPECT_EQ(module_name(profile, profile.locations[0].module), "app");
}

TEST(Load, OfNothingIsEmpty) {
  const Profile profile = load({});
  EXPECT_EQ(profile.duration_ns(), 0u);
  EXPECT_TRUE(select(profile).samples.empty());
}

TEST(StringTable, StoresAStringOnce) {
  StringTable strings;
  const uint32_t handle = strings.intern("main");
  for (int i = 0; i < 1000; ++i) strings.intern(std::to_string(i));
  EXPECT_EQ(strings.intern("main"), handle);
  EXPECT_EQ(strings[handle], "main");
  EXPECT_EQ(strings[0], "");
  EXPECT_EQ(strings.size(), 1002u);
  const StringTable moved = std::move(strings);
  EXPECT_EQ(moved[handle], "main");
}

}  // namespace
}  // namespace sampan::profile
