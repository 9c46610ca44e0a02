#include "sampler/recorder/stack_recorder.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "recording/reader.h"
#include "support/scratch_directory.h"
#include "wire/record.h"

namespace sampan::sampler {
namespace {

const PythonLines kLines{wire::PythonLineTable::kLocations, {}};

// Two threads meet a function at once: the sample of one may be read before the announcement of the
// other.
TEST(StackRecorder, LooksAgainForACodeObjectThatWasNotAnnounced) {
  const test::ScratchDirectory directory;
  recording::Writer writer(directory.file("x"), recording::Session{}, {});
  StackRecorder stacks(writer);
  StackRecorder::Previous previous;
  const uint64_t stack[] = {wire::python_frame(7, 0), wire::python_frame(8, 0)};
  stacks.add({8, {.name = "known", .file = "/w.py", .lines = kLines}});
  const uint32_t before = stacks.row(previous, stack, 0, 1);
  EXPECT_EQ(stacks.row(previous, stack, 2, 2), before);
  stacks.add({7, {.name = "late", .file = "/w.py", .lines = kLines}});
  const uint32_t after = stacks.row(previous, stack, 2, 3);
  EXPECT_NE(after, before);
  EXPECT_EQ(stacks.row(previous, stack, 2, 4), after);
}

// The last name of each frame that has one, as its function.
std::vector<std::string> names_of(const std::string& file) {
  const recording::Recording recording = recording::read(file);
  std::map<uint32_t, std::string> names;
  const recording::Names& all = recording.names;
  auto line = all.lines.begin();
  for (const recording::FrameNames& frame : all.frames) {
    names[frame.frame] = all.texts[all.functions[line->function].name];
    line += frame.line_count;
  }
  std::vector<std::string> in_order;
  for (const recording::Sample& sample : recording.samples) {
    in_order.push_back(names[recording.stacks[sample.stack].frame]);
  }
  return in_order;
}

// Two processes have the same number for different functions.
TEST(StackRecorder, NamesTheFunctionInEarlierSamplesWhenItIsAnnounced) {
  const test::ScratchDirectory directory;
  const std::string file = directory.file("x");
  recording::Writer writer(file, recording::Session{}, {});
  recording::Thread in_process;
  in_process.process = writer.add(recording::Process{});
  recording::Sample row;
  row.thread = writer.add(in_process);
  StackRecorder one(writer), other(writer);
  StackRecorder::Previous previous, others;
  const auto sample = [&](StackRecorder& stacks, StackRecorder::Previous& before, uint32_t number) {
    const uint64_t stack[] = {wire::python_frame(number, 0)};
    row.stack = stacks.row(before, stack, 0, 1);
    writer.add(row);
  };
  sample(one, previous, 7);
  sample(other, others, 7);
  sample(one, previous, 8);
  sample(one, previous, 0);  // the table of numbers was full
  writer.flush();
  one.add({7, {.name = "late", .file = "/w.py", .lines = kLines}});
  sample(one, previous, 7);
  other.add({7, {.name = "of the other", .file = "/w.py", .lines = kLines}});
  writer.finish({});
  EXPECT_EQ(names_of(file),
            (std::vector<std::string>{"late", "of the other", "[python]", "[python]", "late"}));
}

// The ring had room for the name, and then for all.
TEST(StackRecorder, FindsTheLineOfEarlierSamplesWhenTheTableIsAnnounced) {
  const test::ScratchDirectory directory;
  const std::string file = directory.file("x");
  recording::Writer writer(file, recording::Session{}, {});
  StackRecorder stacks(writer);
  StackRecorder::Previous previous;
  const uint64_t stack[] = {wire::python_frame(7, 1)};
  const PythonLines none{static_cast<wire::PythonLineTable>(wire::kNoLineTable), {}};
  const PythonLines all{wire::PythonLineTable::kLocations, {0x80 | 11 << 3, 3, 5}};  // one line on
  stacks.add({7, {.name = "named", .file = "/w.py", .first_line = 20, .lines = none}});
  const uint32_t before = stacks.row(previous, stack, 0, 1);
  stacks.add({7, {.name = "named", .file = "/w.py", .first_line = 20, .lines = all}});
  EXPECT_NE(stacks.row(previous, stack, 1, 2), before);
  writer.finish({});
  const recording::Recording recording = recording::read(file);
  std::vector<std::pair<uint32_t, uint32_t>> lines;  // and columns
  for (const recording::NamedLine& line : recording.names.lines) {
    lines.emplace_back(line.line, line.column);
  }
  EXPECT_EQ(lines, (std::vector<std::pair<uint32_t, uint32_t>>{{0, 0}, {21, 4}, {21, 4}}));
}

}  // namespace
}  // namespace sampan::sampler
