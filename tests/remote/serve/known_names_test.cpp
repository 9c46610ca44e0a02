// Names of this program's own functions, in recordings that number their frames differently.
#include "remote/serve/known_names.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "fake_source.h"

extern "C" __attribute__((noinline, visibility("default"))) int known_function(int x) {
  return x + 1;
}

namespace sampan::serve {
namespace {

recording::Module this_program() {
  char path[4096] = {};
  EXPECT_GT(readlink("/proc/self/exe", path, sizeof path - 1), 0);
  return {.path = path, .build_id = {}, .svma_begin = 0, .svma_end = 0};
}

uint64_t svma(const void* address) {
  Dl_info info{};
  EXPECT_NE(dladdr(address, &info), 0);
  return reinterpret_cast<uint64_t>(address) - reinterpret_cast<uint64_t>(info.dli_fbase);
}

recording::Recording with_frames(std::vector<recording::Frame> frames) {
  recording::Recording recording = program({"main"});
  recording.modules.push_back(this_program());
  recording.frames = std::move(frames);
  return recording;
}

std::string name_of(const recording::Recording& recording, uint32_t frame) {
  size_t line = 0;
  for (const recording::FrameNames& row : recording.names.frames) {
    if (row.frame == frame) {
      return recording.names
          .texts[recording.names.functions[recording.names.lines[line].function].name];
    }
    line += row.line_count;
  }
  return "";
}

const uint64_t kKnown = svma(reinterpret_cast<const void*>(&known_function));

TEST(KnownNames, AreGivenToOtherRecordings) {
  KnownNames names({});
  const recording::Recording first = with_frames({{0, kKnown}});
  names.learn(first);
  EXPECT_EQ(names.size(), 1u);
  recording::Recording second =
      with_frames({{recording::kNone, 0x1234}, {0, kKnown + 1}, {0, kKnown}});
  names.enter(&second);
  EXPECT_EQ(name_of(second, 2), "known_function");
  EXPECT_EQ(name_of(second, 1), "") << "not learnt yet";
  names.learn(second);
  names.enter(&second);
  EXPECT_EQ(name_of(second, 1), "known_function");
}

TEST(KnownNames, HaveEachFunctionOnce) {
  KnownNames names({});
  names.learn(with_frames({{0, kKnown}}));
  names.learn(with_frames({{0, kKnown + 1}}));
  recording::Recording both = with_frames({{0, kKnown}, {0, kKnown + 1}});
  names.enter(&both);
  EXPECT_EQ(both.names.lines[0].function, both.names.lines[1].function);
}

TEST(KnownNames, HaveConstantAddresses) {
  KnownNames names({});
  const recording::Recording recording = with_frames({{0, kKnown}, {recording::kNone, 0x7777}});
  names.learn(recording);
  const uint64_t address = names.address_of(recording, 0);
  EXPECT_GE(address, uint64_t{1} << 48);
  EXPECT_EQ(names.functions_at(address), std::vector<std::string>{"known_function"});
  EXPECT_EQ(names.address_of(recording, 1), 0x7777u);
  EXPECT_TRUE(names.functions_at(0x7777).empty());
  EXPECT_TRUE(names.functions_at(UINT64_MAX).empty());
  recording::Recording other = with_frames({{1, kKnown}});
  recording::Module first;
  first.path = "/other";
  other.modules.insert(other.modules.begin(), first);
  EXPECT_EQ(names.address_of(other, 0), address);
}

}  // namespace
}  // namespace sampan::serve
