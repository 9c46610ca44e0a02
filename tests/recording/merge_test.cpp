#include "recording/merge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/error.h"
#include "recording/complete_file.h"
#include "recording/example.h"
#include "recording/merge_files.h"
#include "recording/writer.h"

namespace sampan::recording {
namespace {

using namespace std::string_literals;

// The example, as a file and back, of another host that began `later_ns` later.
MergeInput input(const std::string& label, uint64_t later_ns = 0, int blocks = 2) {
  const test::ScratchDirectory directory;
  Session session = example_session();
  session.host = "host of " + label;
  session.start_unix_ns += later_ns;
  Writer writer(directory.file("in"), session);
  write_example(writer, blocks);
  writer.finish(example_end());
  return {label, read(directory.file("in"))};
}

Recording merged(Align align, uint64_t later_ns = 1'000'000'000) {
  std::vector<MergeInput> inputs;
  inputs.push_back(input("a"));
  inputs.push_back(input("b", later_ns));
  return merge(std::move(inputs), align);
}

uint64_t sum_of_weights(const Recording& recording) {
  uint64_t sum = 0;
  for (const Sample& sample : recording.samples) sum += sample.weight_ns;
  return sum;
}

TEST(Merge, KeepsWhereEachProcessIsFrom) {
  const Recording recording = merged(Align::kStart);
  ASSERT_EQ(recording.origins.size(), 2u);
  EXPECT_EQ(recording.origins[0].label, "a");
  EXPECT_EQ(recording.origins[1].host, "host of b");
  EXPECT_EQ(recording.origins[1].program, "zstd");
  EXPECT_EQ(recording.origins[1].start_unix_ns, example_session().start_unix_ns + 1'000'000'000);
  EXPECT_EQ(recording.origins[1].processes, 1u);
  EXPECT_EQ(recording.session.host, "several");
  EXPECT_FALSE(recording.session.cpus);
  EXPECT_EQ(recording.session.program, "zstd");
  EXPECT_EQ(recording.threads[3].process, 1u);
  EXPECT_EQ(recording.thread_names[1].thread, 3u);
}

TEST(Merge, KeepsWhatEqualsOnceAndAllWeights) {
  const Recording one = input("a").recording, two = merged(Align::kStart);
  EXPECT_EQ(two.modules.size(), one.modules.size());
  EXPECT_EQ(two.frames.size(), one.frames.size());
  EXPECT_EQ(two.stacks.size(), one.stacks.size());
  EXPECT_EQ(two.waits.size(), one.waits.size());
  EXPECT_EQ(two.samples.size(), 2 * one.samples.size());
  EXPECT_EQ(sum_of_weights(two), 2 * sum_of_weights(one));
  EXPECT_EQ(two.samples.back().stack, one.samples.back().stack);
  EXPECT_EQ(two.losses.size(), 2 * one.losses.size());
}

TEST(Merge, KeepsTheNamesOfFramesOnce) {
  const test::ScratchDirectory directory;
  std::vector<MergeInput> inputs;
  for (const char* label : {"a", "b"}) {
    inputs.push_back(input(label));
    Names& names = inputs.back().recording.names;
    names.texts = {"", "function of "s + label, "file.c"};
    names.functions = {{1, 2, 10, 0}};
    // All frames, and one that is not there.
    const size_t frames = inputs.back().recording.frames.size();
    for (uint32_t frame = 0; frame <= frames; ++frame) {
      names.frames.push_back({frame, 1});
      names.lines.push_back({0, 2, frame});
    }
  }
  write(merge(std::move(inputs), Align::kStart), directory.file("out"));
  const Recording recording = read(directory.file("out"));
  EXPECT_TRUE(recording.damage.empty());
  const auto with_module = std::ranges::count_if(
      recording.frames, [](const Frame& frame) { return frame.module != kNone; });
  ASSERT_EQ(recording.names.frames.size(), static_cast<size_t>(with_module));
  for (size_t i = 0; i < recording.names.frames.size(); ++i) {
    const NamedLine& line = recording.names.lines[i];
    EXPECT_EQ(line.line, recording.names.frames[i].frame);
    const NamedFunction& function = recording.names.functions[line.function];
    EXPECT_EQ(recording.names.texts[function.name], "function of a");
    EXPECT_EQ(recording.names.texts[line.file], "file.c");
  }
}

// Their address is made of their name, unlike that of code without a file.
TEST(Merge, KeepsTheNamesOfAnInterpreter) {
  std::vector<MergeInput> inputs;
  for (const char* label : {"a", "b"}) {
    inputs.push_back(input(label));
    Recording& recording = inputs.back().recording;
    recording.names = {};
    recording.names.texts = {"", "work", "w.py", "generated"};
    recording.names.functions = {{1, 2, 3, kNone}, {3, 0, 0, kNone}};
    for (const uint64_t address : {wire::kPythonFrame | 7, uint64_t{0x7000}}) {
      recording.names.frames.push_back({static_cast<uint32_t>(recording.frames.size()), 1});
      recording.frames.push_back({kNone, address});
    }
    recording.names.lines = {{0, 2, 5, 9}, {1, 0, 0}};
  }
  const Recording merged = merge(std::move(inputs), Align::kStart);
  ASSERT_EQ(merged.names.frames.size(), 1u);
  EXPECT_EQ(merged.frames[merged.names.frames[0].frame].address, wire::kPythonFrame | 7);
  const NamedFunction& function = merged.names.functions[merged.names.lines[0].function];
  EXPECT_EQ(merged.names.texts[function.name], "work");
  EXPECT_EQ(function.module, kNone);
  EXPECT_EQ(merged.names.lines[0].line, 5u);
  EXPECT_EQ(merged.names.lines[0].column, 9u);
}

// Each keeps what its own processes called code without a file.
TEST(Merge, CodeThatWasMadeAtRunTimeIsNamedByProcess) {
  std::vector<MergeInput> inputs;
  for (const char* label : {"a", "b"}) {
    inputs.push_back(input(label, label[0] == 'b' ? 1000 : 0));
    Recording& recording = inputs.back().recording;
    const auto frame = std::ranges::find(recording.frames, kNone, &Frame::module);
    ASSERT_NE(frame, recording.frames.end());
    recording.names.texts = {"", "code of "s + label};
    recording.names.jit = {{0, static_cast<uint32_t>(frame - recording.frames.begin()), 7, 1}};
  }
  const Recording merged = merge(std::move(inputs), Align::kClock);
  const Names& names = merged.names;
  ASSERT_EQ(names.jit.size(), 2u);
  EXPECT_EQ(names.texts[names.jit[0].name], "code of a");
  EXPECT_EQ(names.texts[names.jit[1].name], "code of b");
  EXPECT_EQ(names.jit[0].process, 0u);
  EXPECT_EQ(names.jit[1].process, merged.origins[0].processes);
  EXPECT_EQ(names.jit[0].frame, names.jit[1].frame);
  EXPECT_EQ(names.jit[1].from_ns, 7u + 1000u);
}

TEST(Merge, TimesAreThoseOfTheStartOrOfTheClock) {
  const Recording start = merged(Align::kStart), clock = merged(Align::kClock);
  EXPECT_EQ(start.processes[1].start_ns, start.processes[0].start_ns);
  EXPECT_EQ(clock.processes[1].start_ns, clock.processes[0].start_ns + 1'000'000'000);
  EXPECT_EQ(clock.samples.back().time_ns, start.samples.back().time_ns + 1'000'000'000);
  EXPECT_EQ(start.end->time_ns, example_end().time_ns);
  EXPECT_EQ(clock.end->time_ns, example_end().time_ns + 1'000'000'000);
}

TEST(Merge, TheClockDecidesWhereAllRanAtOnce) {
  std::vector<MergeHead> together, apart;
  const auto head = [](uint64_t later_ns) { return head_of("x", input("x", later_ns).recording); };
  for (const uint64_t later_ns : {0, 1'000'000'000}) together.push_back(head(later_ns));
  for (const uint64_t later_ns : {0ul, 9'000'000'000ul}) apart.push_back(head(later_ns));
  EXPECT_EQ(align(together, {}).how, Align::kClock);
  EXPECT_EQ(align(apart, {}).how, Align::kStart);
}

TEST(Merge, OriginsOfOriginsKeepTheirLabels) {
  std::vector<MergeInput> inputs;
  inputs.push_back({"night", merged(Align::kStart)});
  inputs.push_back(input("day"));
  const Recording recording = merge(std::move(inputs), Align::kStart);
  ASSERT_EQ(recording.origins.size(), 3u);
  EXPECT_EQ(recording.origins[0].label, "night/a");
  EXPECT_EQ(recording.origins[1].label, "night/b");
  EXPECT_EQ(recording.origins[2].label, "day");
}

TEST(Merge, SaysWhatEndsEarly) {
  std::vector<MergeInput> inputs;
  inputs.push_back(input("a"));
  inputs.push_back(input("b"));
  inputs[1].recording.end.reset();
  inputs[1].recording.damage = {"a scratch"};
  const Recording recording = merge(std::move(inputs), Align::kStart);
  EXPECT_EQ(recording.end->note,
            "a: all well; b: damaged recording: a scratch; b: the recording ends early");
  EXPECT_EQ(recording.end->exit_status, 3);
}

TEST(Merge, OfWhatWasStoppedNothingIsLeft) {
  const test::ScratchDirectory directory;
  const std::string path = directory.file("merged.sampan");
  EXPECT_THROW(write(merged(Align::kStart), path, [] { return true; }), Error);
  EXPECT_EQ(directory.names(), std::vector<std::string>());
}

TEST(Merge, IsWrittenAndReadAsAnyRecording) {
  const test::ScratchDirectory directory;
  const std::string path = directory.file("merged.sampan");
  const Recording recording = merged(Align::kClock);
  write(recording, path);
  const Recording back = read(path);
  EXPECT_TRUE(back.damage.empty());
  ASSERT_EQ(back.origins.size(), 2u);
  EXPECT_EQ(back.origins[1].label, "b");
  EXPECT_EQ(back.origins[1].processes, 1u);
  EXPECT_EQ(back.samples.size(), recording.samples.size());
  EXPECT_EQ(sum_of_weights(back), sum_of_weights(recording));
  EXPECT_EQ(back.stacks.size(), recording.stacks.size());
  EXPECT_EQ(back.end->time_ns, recording.end->time_ns);
  EXPECT_THROW(write(recording, path), Error) << "what exists stays";
  EXPECT_THROW(write(recording, directory.file("no/such/directory")), Error);
}

MergeFile example_file(const test::ScratchDirectory& directory, const std::string& label,
                       const Session& session = example_session()) {
  Writer writer(directory.file(label), session);
  write_example(writer, 2);
  writer.finish(example_end());
  return {label, directory.file(label)};
}

TEST(MergeFiles, GivesWhatTheSameGivesInMemory) {
  const test::ScratchDirectory directory;
  std::vector<MergeFile> files;
  std::vector<MergeInput> inputs;
  for (const char* label : {"a", "b", "c"}) {
    Session session = example_session();
    session.start_unix_ns += files.size() * 1'000'000;
    files.push_back(example_file(directory, label, session));
    inputs.push_back({label, read(files.back().path)});
  }
  const MergedFiles result = merge_files(files, directory.file("many"), {}, [] { return false; });
  EXPECT_EQ(result.merged, 3u);
  EXPECT_EQ(result.alignment.how, Align::kClock);
  EXPECT_TRUE(result.left_out.empty());
  write(merge(std::move(inputs), Align::kClock), directory.file("memory"));
  const Recording many = read(directory.file("many")), memory = read(directory.file("memory"));
  EXPECT_TRUE(many.damage.empty());
  EXPECT_EQ(many.origins.size(), 3u);
  EXPECT_EQ(many.samples.size(), memory.samples.size());
  EXPECT_EQ(sum_of_weights(many), sum_of_weights(memory));
  EXPECT_EQ(many.modules, memory.modules);
  EXPECT_EQ(many.frames, memory.frames);
  EXPECT_EQ(many.stacks, memory.stacks);
  EXPECT_EQ(many.waits.size(), memory.waits.size());
  EXPECT_EQ(many.names.texts, memory.names.texts);
  EXPECT_EQ(many.markers.texts.size(), memory.markers.texts.size());
  EXPECT_EQ(many.end->note, memory.end->note);
  EXPECT_EQ(many.end->time_ns, memory.end->time_ns);
  ASSERT_EQ(many.rates.costs.size(), memory.rates.costs.size());
  for (size_t i = 0; i < many.samples.size(); ++i) {
    EXPECT_EQ(many.samples[i].time_ns, memory.samples[i].time_ns);
    EXPECT_EQ(many.samples[i].stack, memory.samples[i].stack);
    EXPECT_EQ(many.samples[i].thread, memory.samples[i].thread);
    EXPECT_EQ(many.samples[i].wait, memory.samples[i].wait);
  }
}

TEST(MergeFiles, RanksComeInTheirOrderByTheirNames) {
  const test::ScratchDirectory directory;
  std::vector<MergeFile> files;
  for (const char* rank : {"10", "9", "", "8"}) {
    Session session = example_session();
    if (*rank != '\0') session.labels = {{"rank", rank}, {"team", "search"}};
    files.push_back(example_file(directory, "dir-"s + rank, session));
    files.back().label_is_chosen = *rank == '8';
  }
  merge_files(files, directory.file("out"), {}, [] { return false; });
  const Recording merged = read(directory.file("out"));
  std::vector<std::string> labels;
  for (const Origin& origin : merged.origins) labels.push_back(origin.label);
  EXPECT_EQ(labels, (std::vector<std::string>{"dir-8", "rank-9", "rank-10", "dir-"}));
  EXPECT_TRUE(merged.session.labels.empty());  // not all have them
}

TEST(MergeFiles, LeavesOutWhatCannotBeReadAndSaysSo) {
  const test::ScratchDirectory directory;
  Session bytes = example_session();
  bytes.unit = "bytes";
  std::vector<MergeFile> files = {{"gone", directory.file("gone")},
                                  example_file(directory, "good"),
                                  example_file(directory, "torn"),
                                  example_file(directory, "allocations", bytes),
                                  example_file(directory, "also good")};
  std::string torn = bytes_of(files[2].path);
  torn[torn.size() / 2] ^= 1;
  std::ofstream(files[2].path, std::ios::binary) << torn;
  const MergedFiles result = merge_files(files, directory.file("out"), {}, [] { return false; });
  EXPECT_EQ(result.merged, 2u);
  ASSERT_EQ(result.left_out.size(), 3u);
  EXPECT_EQ(result.left_out[0].label, "gone");
  EXPECT_TRUE(result.left_out[0].why.ends_with("No such file or directory"));
  EXPECT_EQ(result.left_out[1].label, "torn");
  EXPECT_EQ(result.left_out[2].why, "it counts bytes, and good counts time");
  const Recording merged = read(directory.file("out"));
  EXPECT_EQ(merged.origins.size(), 2u);
  EXPECT_NE(merged.end->note.find("3 of 5 recordings were left out: gone (opening "),
            std::string::npos)
      << merged.end->note;
  files.erase(files.begin() + 1, files.begin() + 2);
  files.erase(files.begin() + 2, files.end());
  const std::vector<std::string> before = directory.names();
  EXPECT_THROW(merge_files(files, directory.file("none"), {}, [] { return false; }), Error);
  EXPECT_EQ(directory.names(), before);
}

TEST(MergeFiles, OfWhatWasStoppedNothingIsLeft) {
  const test::ScratchDirectory directory;
  const std::vector<MergeFile> files = {example_file(directory, "a")};
  EXPECT_THROW(merge_files(files, directory.file("out"), {}, [] { return true; }), Error);
  EXPECT_EQ(directory.names(), std::vector<std::string>{"a"});
}

}  // namespace
}  // namespace sampan::recording
