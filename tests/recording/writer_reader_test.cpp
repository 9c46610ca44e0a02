#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <random>

#include "base/error.h"
#include "recording/codec.h"
#include "recording/example.h"

namespace sampan::recording {
namespace {

// Files of older programs end before the number of CPUs, the unit, or the labels. The example's take a byte each, and so
// does the error of the clock.
TEST(WriterReader, ASessionMayNotKnowItsCpus) {
  ColumnWriter out;
  encode(example_session(), &out);
  const std::optional<Session> older = decode_session(out.bytes().first(out.bytes().size() - 4));
  ASSERT_TRUE(older);
  EXPECT_EQ(older->engine, "preload");
  EXPECT_FALSE(older->cpus);
  EXPECT_TRUE(older->labels.empty());
  EXPECT_FALSE(older->clock_error_ns);
  Session unknown = example_session();
  unknown.cpus.reset();
  out.clear();
  encode(unknown, &out);
  EXPECT_FALSE(decode_session(out.bytes())->cpus);
}

TEST(WriterReader, LabelsAndTheErrorOfTheClockComeBack) {
  Session session = example_session();
  session.labels = {{"rank", "7"}, {"k8s.pod.name", "solver-7"}};
  session.clock_error_ns = 12'345'000;
  ColumnWriter out;
  encode(session, &out);
  const std::optional<Session> read = decode_session(out.bytes());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->labels, session.labels);
  EXPECT_EQ(read->label("k8s.pod.name"), "solver-7");
  EXPECT_EQ(read->label("team"), "");
  EXPECT_EQ(read->clock_error_ns, session.clock_error_ns);
  for (size_t size = out.bytes().size() - 1; size > out.bytes().size() - 30; --size) {
    EXPECT_FALSE(decode_session(out.bytes().first(size))) << size;
  }
}

TEST(WriterReader, EveryRowComesBack) {
  const test::ScratchDirectory directory;
  const std::string path = directory.file("a.sampan");
  Writer writer(path, example_session());
  write_example(writer, 4);
  EXPECT_EQ(writer.samples(), 16u);
  writer.finish(example_end());

  const Recording recording = read(path);
  EXPECT_TRUE(recording.damage.empty());
  EXPECT_EQ(recording.session.program, "zstd");
  EXPECT_EQ(recording.session.command, (std::vector<std::string>{"zstd", "-T2", "big file"}));
  EXPECT_EQ(recording.session.host, "box");
  EXPECT_EQ(recording.session.kernel, "6.18.0");
  EXPECT_EQ(recording.session.start_unix_ns, 1'700'000'000'123'456'789u);
  EXPECT_EQ(recording.session.rate_hz, 1000u);
  EXPECT_EQ(recording.session.kernel_hz, 250u);
  EXPECT_EQ(recording.session.cpus, 12u);
  ASSERT_TRUE(recording.end);
  EXPECT_EQ(recording.end->time_ns, 5'000'000'000u);
  EXPECT_EQ(recording.end->exit_status, 3);
  EXPECT_FALSE(recording.end->exit_signal);
  EXPECT_EQ(recording.end->user_cpu_ns, 77u);
  EXPECT_EQ(recording.end->system_cpu_ns, 78u);
  EXPECT_EQ(recording.end->note, "all well");
  EXPECT_EQ(recording.end->instructions, 79u);

  ASSERT_EQ(recording.processes.size(), 1u);
  EXPECT_EQ(recording.processes[0].pid, 4711);
  EXPECT_EQ(recording.processes[0].name, "/usr/bin/zstd");
  ASSERT_EQ(recording.process_ends.size(), 1u);
  EXPECT_EQ(recording.process_ends[0].cpu_ns, 987'654u);
  EXPECT_FALSE(recording.process_ends[0].exit_status);
  EXPECT_EQ(recording.process_ends[0].exit_signal, 9);
  EXPECT_TRUE(recording.process_ends[0].replaced);
  ASSERT_EQ(recording.threads.size(), 2u);
  EXPECT_EQ(recording.threads[1].tid, 4712);
  EXPECT_EQ(recording.threads[1].start_ns, 20u);
  ASSERT_EQ(recording.thread_names.size(), 1u);
  EXPECT_EQ(recording.thread_names[0].name, "worker #1");
  ASSERT_EQ(recording.thread_ends.size(), 2u);
  EXPECT_EQ(recording.thread_ends[0].cpu_ns, 123'456u);
  EXPECT_FALSE(recording.thread_ends[1].cpu_ns);
  ASSERT_EQ(recording.modules.size(), 2u);
  EXPECT_EQ(recording.modules[0].build_id, (std::vector<uint8_t>{1, 2, 0xff}));
  EXPECT_EQ(recording.modules[1].svma_end, 0x1c0000u);
  ASSERT_EQ(recording.losses.size(), 4u);
  EXPECT_EQ(recording.losses[3].count[0], 3u);

  ASSERT_EQ(recording.samples.size(), 16u);
  const auto stack_of = [&](const Sample& sample) {
    std::vector<Frame> frames;
    for (uint32_t at = sample.stack; at != kNone; at = recording.stacks[at].prefix) {
      frames.push_back(recording.frames[recording.stacks[at].frame]);
    }
    return frames;
  };
  ASSERT_EQ(recording.waits.size(), 2u);
  EXPECT_EQ(recording.waits[0], (Wait{"read", "pipe:[4711]"}));
  EXPECT_EQ(recording.waits[1], (Wait{"read", ""}));
  // A block keeps the samples of a thread and wait together: main, main, worker waiting, worker.
  for (size_t i = 0; i < 4; ++i) {
    const Sample* sample = &recording.samples[4 * i];
    EXPECT_EQ(sample[0].thread, 0u);
    EXPECT_EQ(sample[0].time_ns, 4'000'000 * (i + 1));
    EXPECT_EQ(sample[0].weight_ns, 4'000'000u);
    EXPECT_EQ(stack_of(sample[0]),
              (std::vector<Frame>{{1, 0x1234 + i}, {0, 0x2000 + 16 * (i % 3)}, {0, 0x1100}}));
    EXPECT_EQ(sample[1].stack, kNone);
    EXPECT_EQ(sample[1].weight_ns, 0u);
    EXPECT_EQ(sample[1].stop, wire::StopReason::kBadAddress);
    EXPECT_EQ(sample[1].wait, kNone);
    EXPECT_EQ(sample[2].thread, 1u);
    EXPECT_EQ(sample[2].time_ns, 4'000'000 * (i + 1) + 20'000);
    EXPECT_EQ(sample[2].weight_ns, 50'000'000u);
    EXPECT_EQ(sample[2].wait, i % 2);
    EXPECT_EQ(sample[3].thread, 1u);
    EXPECT_EQ(sample[3].time_ns, 4'000'000 * (i + 1) - 70'000);
    EXPECT_EQ(sample[3].wait, kNone);
    EXPECT_EQ(stack_of(sample[3]), (std::vector<Frame>{{kNone, UINT64_MAX - 1}, {0, 0x1100}}));
  }
}

TEST(WriterReader, InternsModulesFramesAndStacks) {
  const test::ScratchDirectory directory;
  Writer writer(directory.file("a.sampan"), {});
  EXPECT_EQ(writer.add(Module{"/a", {1}, 0, 0}), 0u);
  EXPECT_EQ(writer.add(Module{"/a", {2}, 0, 0}), 1u);
  EXPECT_EQ(writer.add(Module{"/a", {1}, 0, 0}), 0u);
  const Frame leaf{0, 10}, middle{0, 20}, root{0, 30};
  const uint32_t deep = writer.stack(std::vector{leaf, middle, root});
  const uint32_t shallow = writer.stack(std::vector{middle, root});
  EXPECT_NE(deep, shallow);
  writer.flush();
  EXPECT_EQ(writer.stack(std::vector{leaf, middle, root}), deep);
  EXPECT_EQ(writer.stack(shallow, writer.frame(leaf)), deep);
  EXPECT_EQ(writer.stack(std::span<const Frame>()), kNone);
  EXPECT_EQ(writer.frame(root), 0u);  // from the root on
}

TEST(WriterReader, WeightsAddUpToTheMicrosecond) {
  const test::ScratchDirectory directory;
  const std::string path = directory.file("a.sampan");
  {
    Writer writer(path, {});
    const uint32_t process = writer.add(Process{});
    const uint32_t threads[] = {writer.add(Thread{process, 1, 0, ""}),
                                writer.add(Thread{process, 2, 0, ""})};
    const uint32_t wait = writer.wait({"futex", ""});
    for (uint64_t i = 0; i < 1000; ++i) {
      const auto now = SessionNs::at(i * 1'000'999);
      writer.add(Sample{threads[0], kNone, now, 700, {}});
      writer.add(Sample{threads[0], kNone, now, 300, {}, wait});
      writer.add(Sample{threads[1], kNone, now, 999, {}});
      if (i % 100 == 0) writer.flush();
    }
  }
  uint64_t cpu[2] = {}, waiting = 0;
  for (const Sample& sample : read(path).samples) {
    (sample.wait == kNone ? cpu[sample.thread] : waiting) += sample.weight_ns;
    EXPECT_EQ(sample.time_ns % 10'000, 0u);
  }
  EXPECT_EQ(cpu[0], 700'000u);
  EXPECT_EQ(waiting, 300'000u);
  EXPECT_EQ(cpu[1], 999'000u);
}

TEST(WriterReader, WaitsAreRowsOnceAndLoseTheirObjectsWhenTheyAreTooMany) {
  const test::ScratchDirectory directory;
  const std::string path = directory.file("a.sampan");
  {
    Writer writer(path, {});
    EXPECT_EQ(writer.wait({"read", "pipe:[1]"}), 0u);
    EXPECT_EQ(writer.wait({"read", "pipe:[2]"}), 1u);
    writer.flush();
    EXPECT_EQ(writer.wait({"read", "pipe:[1]"}), 0u);
    for (int i = 3; i < 100'000; ++i) writer.wait({"read", "pipe:[" + std::to_string(i) + "]"});
    EXPECT_EQ(writer.wait({"read", "pipe:[1]"}), 0u);
    EXPECT_EQ(writer.wait({"read", "pipe:[99998]"}), writer.wait({"read", "pipe:[99999]"}));
  }
  const Recording recording = read(path);
  EXPECT_EQ(recording.waits.size(), (1u << 16) + 1);
  EXPECT_EQ(recording.waits.back(), (Wait{"read", ""}));
}

// Random stacks of random threads, many blocks: what is read is what was written.
TEST(WriterReader, RandomSamplesComeBack) {
  const test::ScratchDirectory directory;
  const std::string path = directory.file("a.sampan");
  std::mt19937_64 random(1);
  std::vector<std::vector<Sample>> samples(5);
  std::vector<std::vector<std::vector<Frame>>> stacks(5);
  {
    Writer writer(path, {});
    const uint32_t process = writer.add(Process{});
    const uint32_t module = writer.add(Module{});
    for (int i = 0; i < 5; ++i) writer.add(Thread{process, i, 0, ""});
    for (int i = 0; i < 20'000; ++i) {
      const auto thread = static_cast<uint32_t>(random() % 5);
      std::vector<Frame> frames;
      for (uint64_t depth = random() % 6; depth > 0; --depth) {
        frames.push_back({module, random() % 8 != 0 ? random() % 4 : random()});
      }
      Sample sample{thread, writer.stack(frames), SessionNs::at((random() % 1000 + i) * 10'000),
                    random() % 99 * 1000, static_cast<wire::StopReason>(random() % 3)};
      samples[thread].push_back(sample);
      stacks[thread].push_back(frames);
      writer.add(sample);
      writer.tick(MonotonicNs::at(static_cast<uint64_t>(i) * 4'000'000));
    }
  }
  const Recording recording = read(path);
  EXPECT_TRUE(recording.damage.empty());
  EXPECT_EQ(recording.samples.size(), 20'000u);
  std::vector<size_t> next(5);
  for (const Sample& sample : recording.samples) {
    const size_t i = next[sample.thread]++;
    const Sample& expected = samples[sample.thread][i];
    ASSERT_EQ(sample.time_ns, expected.time_ns);
    ASSERT_EQ(sample.weight_ns, expected.weight_ns);
    ASSERT_EQ(sample.stop, expected.stop);
    std::vector<Frame> frames;
    for (uint32_t at = sample.stack; at != kNone; at = recording.stacks[at].prefix) {
      frames.push_back(recording.frames[recording.stacks[at].frame]);
    }
    ASSERT_EQ(frames, stacks[sample.thread][i]);
  }
}

TEST(Writer, WritesWhatIsOlderThanASecond) {
  const test::ScratchDirectory directory;
  const std::string path = directory.file("a.sampan");
  Writer writer(path, {});
  writer.tick(5'000'000'000);
  writer.add(Process{});
  writer.tick(5'900'000'000);
  EXPECT_EQ(read(path).processes.size(), 0u);
  writer.tick(6'000'000'000);
  EXPECT_EQ(read(path).processes.size(), 1u);
}

TEST(Writer, WritesNothingWhenThereIsNothingNew) {
  const test::ScratchDirectory directory;
  const std::string path = directory.file("a.sampan");
  Writer writer(path, {});
  const size_t size = bytes_of(path).size();
  writer.flush();
  writer.tick(1'000'000'000'000);
  EXPECT_EQ(bytes_of(path).size(), size);
}

TEST(Writer, DoesNotOverwrite) {
  const test::ScratchDirectory directory;
  const std::string path = directory.file("a.sampan");
  Writer first(path, {});
  try {
    Writer second(path, {});
    FAIL() << "must throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), "creating " + path + ": File exists");
  }
}

// A full disk, by way of the limit on a file's size.
TEST(Writer, SaysOnceThatTheDiskIsFull) {
  const test::ScratchDirectory directory;
  const std::string path = directory.file("a.sampan");
  Writer writer(path, example_session());
  write_example(writer, 4);
  writer.flush();
  const std::string whole = bytes_of(path);

  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit tight{whole.size() + 30, before.rlim_max};
  const auto action = signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &tight);
  writer.add(Process{1, 2, 3, "a name that does not fit into thirty bytes together with the rest"});
  std::string message;
  try {
    writer.flush();
  } catch (const Error& error) {
    message = error.what();
  }
  EXPECT_EQ(message, "writing " + path + ": File too large");
  writer.add(Process{});
  EXPECT_NO_THROW(writer.flush());
  EXPECT_NO_THROW(writer.finish({}));
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, action);
  EXPECT_EQ(bytes_of(path), whole) << "ends with the last whole block";
}

}  // namespace
}  // namespace sampan::recording
