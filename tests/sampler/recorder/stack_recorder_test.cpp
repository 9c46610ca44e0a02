#include "sampler/recorder/stack_recorder.h"

#include <gtest/gtest.h>

#include "support/scratch_directory.h"
#include "wire/record.h"

namespace sampan::sampler {
namespace {

// Two threads meet a function at once: the sample of one may be read before the announcement of the
// other.
TEST(StackRecorder, LooksAgainForACodeObjectThatWasNotAnnounced) {
  const test::ScratchDirectory directory;
  recording::Writer writer(directory.file("x"), recording::Session{}, {});
  StackRecorder stacks(writer);
  StackRecorder::Previous previous;
  const uint64_t stack[] = {wire::python_frame(7, 0), wire::python_frame(8, 0)};
  stacks.add({8, {.name = "known", .file = "/w.py", .lines = {}}});
  const uint32_t before = stacks.row(previous, stack, 0, 1);
  EXPECT_EQ(stacks.row(previous, stack, 2, 2), before);
  stacks.add({7, {.name = "late", .file = "/w.py", .lines = {}}});
  const uint32_t after = stacks.row(previous, stack, 2, 3);
  EXPECT_NE(after, before);
  EXPECT_EQ(stacks.row(previous, stack, 2, 4), after);
}

}  // namespace
}  // namespace sampan::sampler
