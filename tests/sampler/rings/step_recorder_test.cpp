#include "sampler/rings/step_recorder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "recording/reader.h"
#include "sampler/fake_shim.h"

namespace sampan::sampler {
namespace {

using wire::StepKind;
using wire::StopReason;

// The rows that the samples of a thread give: "begin-end id name coroutine", times in milliseconds.
class StepRecorderTest : public ::testing::Test {
 protected:
  void add(uint64_t ms, StepKind kind, uint8_t task = 0, uint64_t step = 0,
           StopReason stop = StopReason::kRoot) {
    steps_.add(writer_, thread_, {0, 0, 1, stop, 0, {kind, task, step}},
               SessionNs::at(ms * 1'000'000));
  }
  void announce(uint8_t number, uint64_t id, const std::string& name) {
    steps_.announce({number, {id, name, "work"}});
  }

  std::vector<std::string> rows() {
    steps_.close(writer_);
    writer_.finish({});
    const recording::Recording recording = recording::read(path_);
    std::filesystem::remove(path_);
    std::vector<std::string> rows;
    for (const recording::Step& row : recording.markers.steps) {
      rows.push_back(std::to_string(row.begin_ns / 1'000'000) + "-" +
                     std::to_string(row.end_ns / 1'000'000) + " " + std::to_string(row.id) + " " +
                     recording.markers.texts[row.name] + " " + recording.markers.texts[row.text]);
    }
    return rows;
  }

  std::string path_ = ::testing::TempDir() + "steps." + std::to_string(::getpid()) +
                      ::testing::UnitTest::GetInstance()->current_test_info()->name();
  recording::Writer writer_{path_, {}};
  uint32_t process_ = writer_.add(recording::Process{});
  uint32_t thread_ = writer_.add(recording::Thread{process_, 1, 0, "a"});
  StepRecorder steps_;
};

TEST_F(StepRecorderTest, SamplesOfOneStepAreARow) {
  announce(3, 77, "a");
  for (const uint64_t ms : {10, 14, 18}) add(ms, StepKind::kTask, 3, 1000);
  add(22, StepKind::kTask, 3, 1001);
  add(26, StepKind::kCallback, 0, 1002);
  add(30, StepKind::kCallback, 0, 1002);
  EXPECT_EQ(rows(), (std::vector<std::string>{"10-18 1 a work", "22-22 2 a work", "26-30 3  "}));
}

TEST_F(StepRecorderTest, WhatIsOutsideEndsAStep) {
  announce(1, 5, "a");
  add(10, StepKind::kTask, 1, 1000);
  add(14, StepKind::kNone);
  add(18, StepKind::kTask, 1, 1000);
  EXPECT_EQ(rows(), (std::vector<std::string>{"10-10 1 a work", "18-18 2 a work"}));
}

TEST_F(StepRecorderTest, AStackWithoutPythonSaysNothing) {
  announce(1, 5, "a");
  add(10, StepKind::kTask, 1, 1000);
  add(14, StepKind::kNone, 0, 0, StopReason::kPythonTorn);
  add(18, StepKind::kNone, 0, 0, StopReason::kDepthLimit);
  add(22, StepKind::kTask, 1, 1000);
  EXPECT_EQ(rows(), (std::vector<std::string>{"10-22 1 a work"}));
}

TEST_F(StepRecorderTest, AStepMayHaveSeveralTasks) {
  announce(1, 5, "parent");
  announce(2, 6, "eager");
  add(10, StepKind::kTask, 1, 1000);
  add(14, StepKind::kTask, 2, 1000);
  add(18, StepKind::kTask, 1, 1000);
  EXPECT_EQ(rows(), (std::vector<std::string>{"10-10 1 parent work", "14-14 1 eager work",
                                              "18-18 1 parent work"}));
}

TEST_F(StepRecorderTest, ANumberMeansTheTaskThatWasAnnouncedLast) {
  announce(1, 5, "a");
  add(10, StepKind::kTask, 1, 1000);
  announce(1, 6, "b");
  add(14, StepKind::kTask, 1, 1000);
  EXPECT_EQ(rows(), (std::vector<std::string>{"10-10 1 a work", "14-14 1 b work"}));
}

TEST_F(StepRecorderTest, StepsThatCannotBeToldApartAreRowsOfOneSample) {
  announce(1, 5, "a");
  add(10, StepKind::kTask, 1);
  add(14, StepKind::kTask, 1);
  EXPECT_EQ(rows(), (std::vector<std::string>{"10-10 0 a work", "14-14 0 a work"}));
}

TEST(PythonTask, IsDecoded) {
  const auto task = [](uint8_t number, const std::string& name, const std::string& coroutine) {
    return payload([&](ByteWriter& out) {
      out.fixed(number);
      out.fixed(uint64_t{77});
      for (const std::string& text : {name, coroutine}) {
        out.fixed(uint8_t{0});
        out.fixed(static_cast<uint16_t>(text.size()));
        out.bytes(text.data(), text.size());
      }
    });
  };
  const auto record = decode_python_task(task(16, "Task-1", "Service.run"));
  ASSERT_TRUE(record);
  EXPECT_EQ(record->number, 16);
  EXPECT_EQ(record->task.id, 77u);
  EXPECT_EQ(record->task.name, "Task-1");
  EXPECT_EQ(record->task.coroutine, "Service.run");
  EXPECT_FALSE(decode_python_task(task(0, "a", "b")));
  EXPECT_FALSE(decode_python_task(task(17, "a", "b")));
  Bytes bytes = task(1, "a", "b");
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_python_task(std::span(bytes).first(size)));
  }
  bytes.push_back(0);
  EXPECT_FALSE(decode_python_task(bytes));
}

}  // namespace
}  // namespace sampan::sampler
