// Parts of a recording have the stacks, frames, modules and texts that their rows refer to.
#include <gtest/gtest.h>

#include "recording/segments.h"

namespace sampan::recording {
namespace {

TEST(Cut, HasWhatItsRowsReferTo) {
  Recording whole;
  whole.processes = {{.pid = 1, .start_ns = 0, .name = "app"}};
  whole.threads = {{.process = 0, .tid = 1, .start_ns = 0, .name = "main"}};
  whole.frames = {{kNone, 0x10}, {kNone, 0x20}};
  whole.stacks = {{kNone, 0}, {0, 1}};
  whole.samples = {{.thread = 0, .stack = 0, .time_ns = 10, .weight_ns = 1},
                   {.thread = 0, .stack = 1, .time_ns = 20, .weight_ns = 1}};
  whole.markers.texts = {"", "started"};
  whole.markers.events = {{.time_ns = 20, .thread = 0, .name = 1}};

  const Recording part = cut(whole, 15, 100);
  ASSERT_EQ(part.samples.size(), 1u);
  const uint32_t leaf = part.samples[0].stack;
  ASSERT_LT(leaf, part.stacks.size());
  ASSERT_LT(part.stacks[leaf].frame, part.frames.size());
  EXPECT_EQ(part.frames[part.stacks[leaf].frame].address, 0x20u);
  ASSERT_EQ(part.markers.events.size(), 1u);
  ASSERT_LT(part.markers.events[0].name, part.markers.texts.size());
  EXPECT_EQ(part.markers.texts[part.markers.events[0].name], "started");
}

}  // namespace
}  // namespace sampan::recording
