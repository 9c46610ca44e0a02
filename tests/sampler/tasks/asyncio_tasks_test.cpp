// read_asyncio_tasks() in memory as each version of the interpreter has it, and in memory that was
// changed.
#include "sampler/tasks/asyncio_tasks.h"

#include <gtest/gtest.h>

#include <iterator>
#include <random>
#include <utility>

#include "tasks/made_tasks.h"

namespace sampan::sampler {
namespace {

class AsyncioTasksTest : public testing::TestWithParam<unwind::PythonLayout> {
 protected:
  AsyncioTasksTest() {
    loop = made.object("Loop");
    future = made.future();
    const uint64_t leaf = made.coroutine("leaf", made.future_iterator(future), 7);
    waiting = made.coroutine("outer", made.coroutine("by_await", leaf, 8, "generator"));
    made.task("a2", waiting, loop, future);
    second = made.task("a10", made.coroutine("other", 0), loop, 0);
    joining = made.coroutine("joiner", made.future_iterator(second));
    made.task("joins", joining, loop, second);
    made.put(second + made.asyncio.task_state, 0, 4);
  }

  AsyncioTasks read() {
    ProcessPages pages = made.pages();
    return read_asyncio_tasks(pages, made.interpreter, std::span(&made.thread, 1), made.section);
  }

  MadeTasks made{GetParam().version};
  uint64_t loop, future, waiting, second, joining;
};

TEST_P(AsyncioTasksTest, TellsWhatEachDoesAndAwaits) {
  made.publish(loop, 0);
  const AsyncioTasks read = this->read();
  EXPECT_TRUE(read.has_asyncio);
  EXPECT_FALSE(read.is_torn);
  EXPECT_TRUE(read.unknown.empty()) << read.unknown.begin()->first;
  ASSERT_EQ(read.loops.size(), 1u);
  EXPECT_EQ(read.loops[0].tid, 1);
  EXPECT_EQ(read.loops[0].type, "Loop");
  ASSERT_EQ(read.tasks.size(), 3u);
  EXPECT_EQ(read.tasks[0].name, "a2");
  EXPECT_EQ(read.tasks[0].coroutine, "outer");
  EXPECT_EQ(read.tasks[0].state, TaskState::kWaiting);
  EXPECT_EQ(read.tasks[0].awaits, "Future");
  const std::vector<TaskFrame> frames = {
      {"leaf", "/srv/a.py", 7}, {"by_await", "/srv/a.py", 8}, {"outer", "/srv/a.py", 9}};
  EXPECT_EQ(read.tasks[0].frames, frames);
  EXPECT_FALSE(read.tasks[0].is_cut);
  EXPECT_EQ(read.tasks[1].name, "a10");
  EXPECT_EQ(read.tasks[1].state, TaskState::kReady);
  EXPECT_EQ(read.tasks[1].awaited_by, std::vector<size_t>{2});
  EXPECT_EQ(read.tasks[2].awaits, "Task");
  EXPECT_EQ(read.tasks[2].awaited_tasks, std::vector<size_t>{1});
}

TEST_P(AsyncioTasksTest, OneThatItsLoopRunsIsRunning) {
  made.publish(loop, second);
  const AsyncioTasks read = this->read();
  ASSERT_EQ(read.tasks.size(), 3u);
  EXPECT_EQ(read.tasks[1].state, TaskState::kRunning);
  EXPECT_EQ(read.tasks[0].state, TaskState::kWaiting);
}

TEST_P(AsyncioTasksTest, OneThatIsDoneIsLeftOut) {
  made.put(second + made.asyncio.task_state, 2, 4);
  made.publish(loop, 0);
  const AsyncioTasks read = this->read();
  ASSERT_EQ(read.tasks.size(), 2u);
  EXPECT_EQ(read.tasks[1].name, "joins");
  EXPECT_EQ(read.tasks[1].state, TaskState::kReady);  // it will be told
}

TEST_P(AsyncioTasksTest, WhatIsYieldedIsNotAwaited) {
  made.set_state(waiting, made.asyncio.delegation == unwind::Delegation::kState ? -2 : -1);
  const unwind::PythonLayout& layout = made.interpreter.layout;
  if (layout.index_bytes != 0) {
    made.put(made.word(made.word(made.word(waiting + 16) + layout.frame_code) + 48) + 34, 0, 1);
  } else {
    made.put(made.word(waiting + made.asyncio.coroutine_frame + layout.frame_instruction) + 3, 1,
             1);
  }
  made.publish(loop, 0);
  EXPECT_EQ(this->read().tasks.at(0).frames.size(), 1u);
}

// gather(): when the task is done, a function ends the future, which it has as a variable.
TEST_P(AsyncioTasksTest, OneWhoseEndEndsAFutureIsAwaited) {
  const uint64_t cell = made.object("cell"), callback = made.object("function", 128);
  made.put(cell + 16, future);
  made.put(callback + made.asyncio.function_closure, made.sequence("tuple", {made.none(), cell}));
  made.put(second + 40, made.sequence("list", {made.sequence("tuple", {callback, made.none()})}));
  made.publish(loop, 0);
  const AsyncioTasks read = this->read();
  EXPECT_EQ(read.tasks.at(1).awaited_by, (std::vector<size_t>{0, 2}));
  EXPECT_EQ(read.tasks.at(0).awaited_tasks, std::vector<size_t>{1});
}

TEST_P(AsyncioTasksTest, AListThatIsBeingChangedIsTorn) {
  made.publish(loop, 0);
  if (made.section) {
    made.put(second + made.section->task_node + 8, second);
  } else {
    made.put(made.data + 24, 2);
  }
  EXPECT_TRUE(this->read().is_torn);
}

TEST_P(AsyncioTasksTest, OtherObjectsAreCounted) {
  made.put(second + 8, made.type("gadget"));
  made.publish(loop, 0);
  const AsyncioTasks read = this->read();
  EXPECT_EQ(read.tasks.size(), 2u);
  EXPECT_EQ(read.unknown.at("gadget"), 1u);
}

TEST_P(AsyncioTasksTest, AProgramWithoutAsyncioHasNone) {
  const AsyncioTasks read = this->read();
  EXPECT_FALSE(read.has_asyncio);
  EXPECT_TRUE(read.tasks.empty());
}

TEST_P(AsyncioTasksTest, WhatIsNotReadInTimeIsCounted) {
  made.publish(loop, 0);
  size_t all = 0;
  const auto read_pages = [&](size_t most) {
    ProcessPages pages(
        [this](uint64_t page, std::span<std::byte, ProcessPages::kPageSize> to) {
          return made.copy(page, to);
        },
        [&all, most] { return all++ < most; });
    return read_asyncio_tasks(pages, made.interpreter, std::span(&made.thread, 1), made.section);
  };
  EXPECT_EQ(read_pages(SIZE_MAX).not_read, 0u);
  bool some = false;
  for (size_t most = std::exchange(all, 0); most-- > 0; all = 0) {
    const AsyncioTasks read = read_pages(most);
    EXPECT_TRUE(read.unknown.empty()) << read.unknown.begin()->first;
    EXPECT_LE(read.tasks.size() + read.not_read, 3u);
    some |= read.not_read != 0 && read.tasks.size() + read.not_read == 3;
    for (const AsyncioTask& task : read.tasks) EXPECT_FALSE(task.is_cut);
  }
  EXPECT_TRUE(some);
}

// A coroutine cannot await itself, but memory may say so.
TEST_P(AsyncioTasksTest, ACircleOfCoroutinesEnds) {
  const uint64_t frame = made.asyncio.coroutine_frame != 0 ? joining + made.asyncio.coroutine_frame
                                                           : made.word(joining + 16);
  made.put(frame + made.asyncio.frame_locals + 8, joining);
  made.publish(loop, 0);
  const AsyncioTasks read = this->read();
  EXPECT_TRUE(read.tasks.at(2).is_cut);
  EXPECT_EQ(read.tasks.at(2).frames.size(), 1024u);
}

// The memory is the target's.
TEST_P(AsyncioTasksTest, DamagedMemoryIsHarmless) {
  made.publish(loop, second);
  std::mt19937 random(GetParam().version);
  const std::vector<uint8_t> whole = made.memory();
  size_t others = 0;
  for (int round = 0; round < 3'000; ++round) {
    made.memory() = whole;
    for (int change = 0; change < 4; ++change) {
      const uint64_t place = MadeTasks::kBase + (random() % made.used() & ~size_t{7});
      const uint64_t values[] = {
          0,
          UINT64_MAX,
          random(),
          uint64_t{random()} << 32,
          MadeTasks::kBase + random() % made.used(),
          made.word(MadeTasks::kBase + (random() % made.used() & ~size_t{7}))};
      made.put(place, values[random() % std::size(values)]);
    }
    const AsyncioTasks read = this->read();
    ASSERT_LE(read.tasks.size(), 64u);
    for (const AsyncioTask& task : read.tasks) {
      ASSERT_LT(task.loop, read.loops.size());
      ASSERT_LE(task.frames.size(), 1024u);
      others += task.frames.empty() || task.is_cut;
    }
    others += read.tasks.size() != 3 || read.is_torn || !read.unknown.empty();
  }
  EXPECT_GT(others, 100u);  // of these changes, some change something
}

std::string version_name(const testing::TestParamInfo<unwind::PythonLayout>& info) {
  return "3_" + std::to_string(info.param.version & 0xff);
}
INSTANTIATE_TEST_SUITE_P(Versions, AsyncioTasksTest, testing::ValuesIn(unwind::kPythonLayouts),
                         version_name);

}  // namespace
}  // namespace sampan::sampler
