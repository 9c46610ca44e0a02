#include "sampler/recorder/python_reader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <random>

#include "process/made_interpreter.h"
#include "wire/record.h"

namespace sampan::sampler {
namespace {

constexpr uint64_t kLeaf = 0x1001, kEval = 0x2001, kBetween = 0x3001, kOuterEval = 0x2051,
                   kRoot = 0x4001;

// Codes in the order in which the frames have them.
struct Merged {
  unwind::WalkResult result;
  std::vector<std::string> frames;  // names of functions, or "native"
};

struct Reader : testing::Test {
  using Made = MadeInterpreter;
  Made made = with_eval_loop();
  PythonReader reader{getpid(), std::make_shared<const PythonInterpreter>(made.interpreter)};
  CapturedPython captured;
  NativeWalk native;
  std::vector<uint64_t> frames = std::vector<uint64_t>(wire::kMaxFrames);
  PythonCodes codes;

  Reader() {
    native.frames = {kLeaf, kEval, kBetween, kOuterEval, kRoot};
    native.cfas = {made.at(Made::kLeafCfa), made.at(Made::kInnerCfa), made.at(Made::kMiddleCfa),
                   made.at(Made::kOuterCfa), made.at(Made::kRootCfa)};
    native.result = {5, wire::StopReason::kRoot};
  }
  static Made with_eval_loop() {
    Made made;
    made.interpreter.eval_loop = {kEval - 1, kOuterEval + 1};
    return made;
  }
  void capture() {
    const auto tid = static_cast<pid_t>(syscall(SYS_gettid));
    reader.capture(tid, Avma::at(made.at(Made::kStack)), made.stack(), captured);
  }
  Merged merge() {
    Merged merged{reader.merge(native, captured, frames), {}};
    for (PythonCodeRecord& code : reader.take_new_codes()) codes.add(std::move(code));
    for (uint32_t i = 0; i < merged.result.depth; ++i) {
      merged.frames.push_back(!wire::is_python_frame(frames[i]) ? "native"
                              : codes.knows(frames[i])          ? codes.name(frames[i]).function
                                                                : "[python]");
    }
    return merged;
  }
  Merged capture_and_merge() {
    capture();
    return merge();
  }
};

const std::vector<std::string> kWhole = {"native", "leaf",     "Service.work", "native",
                                         "native", "<module>", "native",       "native"};

TEST_F(Reader, PutsTheFunctionsWhereTheirEvalLoopsAre) {
  const Merged merged = capture_and_merge();
  EXPECT_EQ(merged.result.stop, wire::StopReason::kRoot);
  EXPECT_EQ(merged.frames, kWhole);
  EXPECT_EQ(codes.name(frames[1]).file, "/srv/w.py");
  EXPECT_EQ(codes.name(frames[1]).first_line, 10u);
}

TEST_F(Reader, WhatWasCapturedStaysWhenTheThreadGoesOn) {
  capture();
  std::ranges::fill(std::span(made.memory()).first(Made::kStack), uint8_t{0x5a});
  EXPECT_EQ(merge().frames, kWhole);
}

TEST_F(Reader, AChainThatDoesNotEndInTheStackIsToldAndNotShown) {
  made.frame(Made::kChunk + 0x200, Made::kCode + 0x800, 0);  // the outer shim is not linked
  const Merged merged = capture_and_merge();
  EXPECT_EQ(merged.result.stop, wire::StopReason::kPythonTorn);
  EXPECT_EQ(merged.frames, std::vector<std::string>(5, "native"));
}

// Memory behind the stack is copied with it, and may have a generator's frame.
TEST_F(Reader, TellsTheStackFromTheMemoryBehindIt) {
  constexpr size_t kGenerator = Made::kRootCfa + 0x100;
  made.frame(Made::kChunk, Made::kCode, kGenerator);
  made.frame(kGenerator, Made::kCode + 0x400, Made::kInnerShim);
  const Merged merged = capture_and_merge();
  EXPECT_EQ(merged.result.stop, wire::StopReason::kRoot);
  EXPECT_EQ(merged.frames, kWhole);
}

TEST_F(Reader, AThreadThatRunsNoPythonKeepsItsNativeStack) {
  made.put(Made::kThread + 160, 1);
  const Merged merged = capture_and_merge();
  EXPECT_EQ(merged.result.stop, wire::StopReason::kRoot);
  EXPECT_EQ(merged.frames, std::vector<std::string>(5, "native"));
}

// A thread that runs a subinterpreter has its inner run there. The states are met in either order.
struct InTwoInterpreters : Reader {
  static constexpr size_t kSub = 0x600, kInner = 0xa00;

  InTwoInterpreters() {
    made.put(kSub + 24, made.at(Made::kMain));
    made.put(Made::kRuntime + 16, made.at(kSub));
    frames_of(Made::kThread, Made::kChunk + 0x200);
    frames_of(kInner, Made::kChunk);
    made.frame(Made::kInnerShim, Made::kCode, 0);
  }
  void frames_of(size_t state, size_t frame) {
    made.put(state + made.interpreter.layout.thread_frame, made.at(frame));
  }
  void enter(size_t state) {
    made.put(state + 160, static_cast<uint64_t>(syscall(SYS_gettid)));
    made.put(kSub + 32, made.at(state));
  }
};

TEST_F(InTwoInterpreters, AThreadHasTheFunctionsOfBoth) {
  enter(kInner);
  EXPECT_EQ(capture_and_merge().frames, kWhole);
  frames_of(kInner, Made::kChunk + 0x200);  // the other way round
  made.frame(Made::kOuterShim, Made::kCode, 0);
  frames_of(Made::kThread, Made::kChunk);
  EXPECT_EQ(capture_and_merge().frames, kWhole);
}

TEST_F(InTwoInterpreters, AStackIsNativeIfOneOfThemIsNotKnown) {
  const Merged merged = capture_and_merge();
  EXPECT_EQ(merged.result.stop, wire::StopReason::kPythonTorn);
  EXPECT_EQ(merged.frames, std::vector<std::string>(5, "native"));
}

TEST_F(Reader, AnotherFunctionInTheSamePlaceIsAnotherFunction) {
  capture_and_merge();
  made.code(Made::kCode, "other", "/srv/w.py", 30);
  EXPECT_EQ(capture_and_merge().frames[1], "other");
}

// Texts are captured once. What has been captured and was lost has no name until it is captured again.
TEST_F(Reader, TextsThatWereLostAreCapturedAgain) {
  capture();
  capture();  // what was read the last time is read again
  capture();
  EXPECT_EQ(merge().frames[1], "[python]");
  reader.forget_texts();
  EXPECT_EQ(capture_and_merge().frames, kWhole);
}

// They are kept although that stack is not.
TEST_F(Reader, TextsOfAStackThatIsTornAreKnown) {
  made.frame(Made::kChunk + 0x200, Made::kCode + 0x800, 0);
  EXPECT_EQ(capture_and_merge().result.stop, wire::StopReason::kPythonTorn);
  made.frame(Made::kChunk + 0x200, Made::kCode + 0x800, Made::kOuterShim);
  capture();
  capture();
  EXPECT_EQ(capture_and_merge().frames, kWhole);
}

// The memory is the target's.
TEST_F(Reader, DamagedMemoryIsHarmless) {
  std::mt19937 random(1);
  const std::vector<uint8_t> whole = made.memory();
  for (int round = 0; round < 20'000; ++round) {
    made.memory() = whole;
    for (int change = 0; change < 4; ++change) {
      const size_t place = random() % (Made::kStack + Made::kStackSize) & ~size_t{7};
      const uint64_t values[] = {0, UINT64_MAX, random(), made.at(random() % Made::kSize),
                                 made.word(random() % Made::kSize & ~size_t{7})};
      made.put(place, values[random() % std::size(values)]);
    }
    const Merged merged = capture_and_merge();
    ASSERT_GE(merged.result.depth, 5u);
    ASSERT_LE(merged.result.depth, wire::kMaxFrames);
    ASSERT_EQ(std::ranges::count_if(merged.frames, [](auto& name) { return name == "native"; }), 5)
        << round;
  }
}

}  // namespace
}  // namespace sampan::sampler
