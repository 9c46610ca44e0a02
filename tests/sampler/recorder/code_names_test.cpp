#include "sampler/recorder/code_names.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>
#include <string>

#include "../process/registered.h"
#include "recording/reader.h"
#include "support/scratch_directory.h"

namespace sampan::sampler {
namespace {

using test::file_of;
using test::Registered;

// Frames at 0x10000, 0x10008 and 0x20000. The process looks once a second.
class CodeNamesTest : public testing::Test {
 protected:
  CodeNamesTest() {
    add(0x10000);
    add(0x10008);
    add(0x20000);
  }

  void add(uint64_t address) {
    const Avma avma = Avma::at(address);
    names_.add({{avma, writer_.frame({recording::kNone, address})}});
  }
  void look() { names_.look(MonotonicNs::at(kStart + ++seconds_ * kNsPerSecond)); }

  // The names of a frame, each with the second from which on it is valid: "first@0 [jit]@2". The
  // time that a look takes counts as none.
  std::string names(uint64_t address) {
    writer_.flush();
    const recording::Recording recording = recording::read(file_);
    std::string all;
    for (const recording::JitName& row : recording.names.jit) {
      EXPECT_EQ(row.process, 0u);
      if (recording.frames.at(row.frame).address != address) continue;
      if (!all.empty()) all += ' ';
      all += recording.names.texts.at(row.name) + '@' + std::to_string(row.from_ns / kNsPerSecond);
    }
    return all;
  }

  static constexpr uint64_t kStart = 77'000'000'000'000;
  const test::ScratchDirectory directory_;
  const std::string file_ = directory_.file("recording");
  recording::Writer writer_{file_, recording::Session{}};
  CodeNames names_{writer_, SessionClock{MonotonicNs::at(kStart)}, getpid(),
                   writer_.add(recording::Process{})};
  uint64_t seconds_ = 0;
};

TEST_F(CodeNamesTest, NamesFramesBeforeAndAfterTheyAreMet) {
  const Registered code(file_of("code", 0x10000));
  look();
  EXPECT_EQ(names(0x10000), "code@0");
  EXPECT_EQ(names(0x10008), "code@0");
  EXPECT_EQ(names(0x20000), "");
  add(0x1000c);
  EXPECT_EQ(names(0x1000c), "code@0");
  look();
  EXPECT_EQ(names(0x10000), "code@0");
}

TEST_F(CodeNamesTest, CodeThatComesLaterHasTheTimeOfTheLookBefore) {
  look();
  look();
  const Registered code(file_of("code", 0x10000));
  look();
  EXPECT_EQ(names(0x10000), "code@2");
}

TEST_F(CodeNamesTest, CodeThatGoesHasNoNameAfterwards) {
  {
    const Registered code(file_of("code", 0x10000));
    look();
    look();
  }
  look();
  EXPECT_EQ(names(0x10000), "code@0 [jit]@3");
  add(0x1000c);  // its sample may be older
  EXPECT_EQ(names(0x1000c), "code@0 [jit]@3");
  look();
  const Registered later(file_of("later", 0x10000));
  look();
  EXPECT_EQ(names(0x10000), "code@0 [jit]@3 later@4");
}

TEST_F(CodeNamesTest, BetweenTwoLooksItMayBeEither) {
  Registered entry(file_of("first", 0x10000));
  look();
  look();
  entry.file = file_of("other", 0x10000);
  entry.entry.file = entry.file.data();
  look();
  EXPECT_EQ(names(0x10000), "first@0 [jit]@3 [jit]@2 other@3");
}

TEST_F(CodeNamesTest, OfTwoTheLaterCounts) {
  const Registered first(file_of("first", 0x10000));
  const Registered second(file_of("second", 0x10000));
  look();
  EXPECT_EQ(names(0x10000), "first@0 second@0");
}

TEST_F(CodeNamesTest, AnIncompleteLookTakesNothingAway) {
  const Registered code(file_of("code", 0x10000));
  look();
  __jit_debug_descriptor.version = 0;
  look();
  __jit_debug_descriptor.version = 1;
  look();
  EXPECT_EQ(names(0x10000), "code@0");
}

TEST_F(CodeNamesTest, AreWrittenIntoEachFile) {
  const Registered code(file_of("code", 0x10000));
  look();
  writer_.rotate(directory_.file("next"), 0);
  add(0x10000);
  writer_.flush();
  const recording::Recording next = recording::read(directory_.file("next"));
  ASSERT_EQ(next.names.jit.size(), 1u);
  EXPECT_EQ(next.names.texts.at(next.names.jit[0].name), "code");
}

}  // namespace
}  // namespace sampan::sampler
