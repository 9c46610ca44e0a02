// find_step() in memory as each version of the interpreter has it, and in memory that was changed.
#include "preload/python/loop_step.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/byte_cursor.h"
#include "wire/control_block.h"

namespace sampan::preload {
namespace {

uint64_t float_type;

// The objects of an interpreter, at addresses that are multiples of 16.
class Heap {
 public:
  explicit Heap(const unwind::PythonLayout& layout)
      : layout_(layout), asyncio_(unwind::asyncio_layout(layout.version)) {}

  uint64_t object(const std::string& type, size_t size = 256) {
    const uint64_t at = allocate(size);
    put(at + 8, this->type(type));
    return at;
  }
  uint64_t type(const std::string& name, uint64_t base = 0) {
    const uint64_t at = allocate(512);
    put(at + 24, c_string(name));
    put(at + 256, base);
    return at;
  }
  uint64_t c_string(const std::string& text) {
    const uint64_t at = allocate(text.size() + 1);
    std::memcpy(reinterpret_cast<char*>(at), text.c_str(), text.size() + 1);
    return at;
  }
  uint64_t string(const std::string& text) {
    const uint64_t at = object("str", layout_.string_ascii + text.size() + 1);
    put(at + 16, text.size());
    put(at + 32, 1 << 2 | 1 << 5 | 1 << 6);
    std::memcpy(reinterpret_cast<char*>(at + layout_.string_ascii), text.data(), text.size());
    return at;
  }
  uint64_t coroutine(const std::string& name) {
    const uint64_t at = object("coroutine");
    put(at + asyncio_.coroutine_name, string(name));
    return at;
  }
  uint64_t task(uint64_t name, uint64_t coroutine, const std::string& type = "_asyncio.Task") {
    const uint64_t at = object(type);
    put(at + asyncio_.task_name, name);
    put(at + asyncio_.task_coroutine, coroutine);
    return at;
  }
  uint64_t step_of(uint64_t task) {
    const uint64_t at = object("TaskStepMethWrapper");
    put(at + 16, task);
    return at;
  }
  uint64_t builtin(const std::string& name, uint64_t self) {
    const uint64_t method = allocate(32), at = object("builtin_function_or_method");
    put(method, c_string(name));
    put(at + 16, method);
    put(at + 24, self);
    return at;
  }
  uint64_t handle(uint64_t callback) {
    const uint64_t at = object("Handle");
    put(at + 24, callback);
    return at;
  }
  // A frame whose i-th variable is `local`.
  uint64_t frame(unsigned i, uint64_t local) {
    const uint64_t at = allocate(512);
    put(at + asyncio_.frame_locals + 8 * i, local);
    return at;
  }
  uint64_t number(double value) {
    const uint64_t at = allocate(32);
    put(at + 8, float_type);
    std::memcpy(reinterpret_cast<void*>(at + 16), &value, sizeof value);
    return at;
  }
  static void put(uint64_t at, uint64_t value) {
    std::memcpy(reinterpret_cast<void*>(at), &value, sizeof value);
  }

  std::vector<uint64_t>& words() { return words_; }

 private:
  uint64_t allocate(size_t size) {
    used_ = (used_ + 15) / 16 * 16;
    const uint64_t at = (reinterpret_cast<uint64_t>(words_.data()) + 15) / 16 * 16 + used_;
    used_ += size;
    EXPECT_LE(used_, 8 * words_.size() - 16);
    return at;
  }

  const unwind::PythonLayout& layout_;
  const unwind::AsyncioLayout& asyncio_;
  std::vector<uint64_t> words_ = std::vector<uint64_t>(1 << 13);
  size_t used_ = 0;
};

struct Announced {
  uint8_t number;
  std::string name, coroutine;
};

class LoopStepTest : public ::testing::TestWithParam<unwind::PythonLayout> {
 protected:
  LoopStepTest() { float_type = heap_.type("float"); }

  LoopStep find(const LoopFrames& frames) {
    find_step(memory_, GetParam(), frames, ring_, step_);
    return step_;
  }
  LoopStep find_handle(uint64_t callback, double round = 1.5) {
    LoopFrames frames(memory_, GetParam());
    frames.add(CodeKind::kHandleRun, heap_.frame(0, heap_.handle(callback)));
    frames.add(CodeKind::kLoopRound, heap_.frame(7, heap_.number(round)));
    return find(frames);
  }

  std::vector<Announced> announced() {
    std::vector<Announced> tasks;
    wire::RingReader reader(positions_.get(), buffer_);
    wire::RingReader::Record record;
    while (reader.next(reader.head(), record)) {
      EXPECT_EQ(record.type, static_cast<uint8_t>(wire::RecordType::kPythonTask));
      ByteCursor cursor(record.payload);
      Announced task{cursor.u8(), "", ""};
      cursor.u64();
      for (std::string* text : {&task.name, &task.coroutine}) {
        cursor.u8();
        const auto bytes = cursor.take(cursor.u16());
        text->assign(bytes.begin(), bytes.end());
      }
      EXPECT_TRUE(cursor.ok() && cursor.at_end());
      tasks.push_back(task);
    }
    return tasks;
  }
  // The only one, which has the number.
  void expect_task(const LoopStep& step, const std::string& name, const std::string& coroutine) {
    EXPECT_EQ(step.kind, wire::StepKind::kTask);
    const std::vector<Announced> tasks = announced();
    ASSERT_EQ(tasks.size(), 1u);
    EXPECT_EQ(tasks[0].number, step.task);
    EXPECT_EQ(tasks[0].name, name);
    EXPECT_EQ(tasks[0].coroutine, coroutine);
  }

  Heap heap_{GetParam()};
  std::vector<uint64_t> c_stack_ = std::vector<uint64_t>(256);
  unwind::StackBounds stack_{reinterpret_cast<uint64_t>(c_stack_.data()),
                             reinterpret_cast<uint64_t>(c_stack_.data() + c_stack_.size()), true};
  ReadablePages pages_{};
  PythonMemory memory_{stack_, pages_};
  std::unique_ptr<wire::RingPositions> positions_ = std::make_unique<wire::RingPositions>();
  std::vector<uint8_t> buffer_ = std::vector<uint8_t>(wire::kThreadRingSize);
  wire::RingWriter ring_{positions_.get(), buffer_};
  LoopStep step_{};
};

TEST_P(LoopStepTest, TheCallbackOfTheHandleIsAStepOfTheTask) {
  const uint64_t task = heap_.task(heap_.string("fetch 1"), heap_.coroutine("Service.fetch"));
  const LoopStep step = find_handle(heap_.step_of(task));
  EXPECT_NE(step.id, 0u);
  EXPECT_EQ(find_handle(heap_.builtin("wakeup", task)).task, step.task);
  expect_task(step, "fetch 1", "Service.fetch");
}

TEST_P(LoopStepTest, ClassesThatAreDerivedFromTaskAreTasks) {
  const uint64_t task = heap_.task(heap_.string("a"), heap_.coroutine("b"), "Mine");
  const uint64_t base = heap_.type("_asyncio.Task");
  Heap::put(task + 8, heap_.type("Mine", heap_.type("Between", base)));
  expect_task(find_handle(heap_.step_of(task)), "a", "b");
}

TEST_P(LoopStepTest, ANameMayBeANumberUntilSomebodyAsks) {
  const uint64_t number = heap_.object("int");
  Heap::put(number + 16, 2 << 3);
  Heap::put(number + 24, uint64_t{3} << 32 | 5);  // digits of 30 bits, the lowest first
  expect_task(find_handle(heap_.step_of(heap_.task(number, heap_.coroutine("run")))),
              "Task-" + std::to_string((uint64_t{3} << 30) + 5), "run");
}

TEST_P(LoopStepTest, OtherCallbacksAreNoTasks) {
  const uint64_t task = heap_.task(heap_.string("a"), heap_.coroutine("b"));
  EXPECT_EQ(find_handle(heap_.builtin("cancel", task)).kind, wire::StepKind::kCallback);
  EXPECT_EQ(find_handle(heap_.object("function")).kind, wire::StepKind::kCallback);
  EXPECT_EQ(find_handle(heap_.object("method")).task, 0);
  EXPECT_NE(find_handle(heap_.object("method")).id, 0u);
  EXPECT_TRUE(announced().empty());
}

TEST_P(LoopStepTest, WhatIsNoTaskIsNotKnown) {
  const uint64_t other = heap_.task(heap_.string("a"), heap_.coroutine("b"), "Task");
  EXPECT_EQ(find_handle(heap_.step_of(other)).kind, wire::StepKind::kUnknown);
}

TEST_P(LoopStepTest, StepsAreToldApart) {
  const uint64_t callback = heap_.object("function");
  const uint64_t handle = heap_.frame(0, heap_.handle(callback));
  const auto id = [&](uint64_t frame, double round) {
    LoopFrames frames(memory_, GetParam());
    frames.add(CodeKind::kHandleRun, frame);
    frames.add(CodeKind::kLoopRound, heap_.frame(7, heap_.number(round)));
    return find(frames).id;
  };
  EXPECT_EQ(id(handle, 1.5), id(handle, 1.5)) << "whatever objects the numbers are";
  EXPECT_NE(id(handle, 1.5), id(handle, 1.500001));
  EXPECT_NE(id(handle, 1.5), id(heap_.frame(0, heap_.handle(callback)), 1.5));
  LoopFrames frames(memory_, GetParam());
  frames.add(CodeKind::kHandleRun, handle);
  EXPECT_EQ(find(frames).id, 0u) << "in another loop than asyncio's";
}

TEST_P(LoopStepTest, ATaskIsAnnouncedOnceAndAgainWhenItIsRenamed) {
  const uint64_t task = heap_.task(heap_.string("a"), heap_.coroutine("run"));
  const uint64_t callback = heap_.step_of(task);
  for (int i = 0; i < 3; ++i) find_handle(callback);
  EXPECT_EQ(announced().size(), 1u);
  Heap::put(task + unwind::asyncio_layout(GetParam().version).task_name, heap_.string("b"));
  find_handle(callback);
  EXPECT_EQ(announced().back().name, "b");
}

// A group of frames that ends in a coroutine's, run by C code that holds the task.
class Coroutines : public LoopStepTest {
 protected:
  uint64_t frame_of(uint64_t coroutine) {
    const unwind::AsyncioLayout& asyncio = unwind::asyncio_layout(GetParam().version);
    if (asyncio.frame_owner == 0) {
      const uint64_t frame = heap_.frame(0, 0);
      Heap::put(frame + GetParam().frame_generator, coroutine);
      return frame;
    }
    const uint64_t frame = coroutine + asyncio.coroutine_frame;
    *reinterpret_cast<uint8_t*>(frame + asyncio.frame_owner) = 1;
    return frame;
  }
  LoopFrames run_by(uint64_t coroutine, uint64_t caller) {
    return run_by(heap_.frame(0, 0), frame_of(coroutine), caller);
  }
  LoopFrames run_by(uint64_t leaf, uint64_t frame, uint64_t caller) {
    LoopFrames frames(memory_, GetParam());
    frames.end_group(leaf, frame, stack_.low + 64);
    frames.end_group(caller, caller, stack_.low + 640);
    return frames;
  }
};

TEST_P(Coroutines, ATaskIsFoundInTheCStackThatRunsIt) {
  const uint64_t coroutine = heap_.coroutine("main");
  const uint64_t other = heap_.task(heap_.string("other"), heap_.coroutine("other"));
  const uint64_t task = heap_.task(heap_.string("a"), coroutine);
  c_stack_[20] = other;
  c_stack_[21] = 4711;
  c_stack_[22] = task;
  const LoopFrames frames = run_by(coroutine, heap_.frame(0, 0));
  EXPECT_EQ(frames.coroutine, coroutine);
  expect_task(find(frames), "a", "main");
  c_stack_[22] = 0;
  EXPECT_EQ(find(frames).kind, wire::StepKind::kTask) << "it is remembered";
}

TEST_P(Coroutines, WithoutATaskTheCoroutineIsKnown) {
  const LoopStep step = find(run_by(heap_.coroutine("main"), heap_.frame(0, 0)));
  EXPECT_EQ(step.kind, wire::StepKind::kUnknown);
  const std::vector<Announced> tasks = announced();
  ASSERT_EQ(tasks.size(), 1u);
  EXPECT_EQ(tasks[0].name, "");
  EXPECT_EQ(tasks[0].coroutine, "main");
}

TEST_P(Coroutines, ACoroutineThatIsAwaitedIsNotTheOutermost) {
  const uint64_t outer = heap_.coroutine("outer");
  EXPECT_EQ(run_by(heap_.coroutine("inner"), frame_of(outer)).coroutine, 0u);
}

TEST_P(Coroutines, AnEagerTaskIsNotTheOneThatMadeIt) {
  const uint64_t eager = heap_.coroutine("eager");
  const uint64_t parent = heap_.task(heap_.string("parent"), heap_.coroutine("parent"));
  c_stack_[30] = heap_.task(heap_.string("eager"), eager);
  LoopFrames frames = run_by(eager, heap_.frame(0, 0));
  frames.add(CodeKind::kHandleRun, heap_.frame(0, heap_.handle(heap_.step_of(parent))));
  expect_task(find(frames), "eager", "eager");
}

// 3.14. Others say nothing, and the word may be anything.
TEST_P(Coroutines, TheInterpretersOwnWordCounts) {
  const uint16_t place = unwind::asyncio_layout(GetParam().version).running_task;
  const uint64_t coroutine = heap_.coroutine("main");
  c_stack_[20] = heap_.task(heap_.string("found"), coroutine);
  LoopFrames frames = run_by(coroutine, heap_.frame(0, 0));
  std::vector<uint64_t> thread(256);
  const auto state = reinterpret_cast<uint64_t>(thread.data());
  thread[place / 8] = heap_.task(heap_.string("said"), heap_.coroutine("other"));
  frames.take_running_task(state);
  if (place == 0) {
    EXPECT_EQ(frames.running_task, 0u);
    expect_task(find(frames), "found", "main");
    return;
  }
  expect_task(find(frames), "said", "other");
  LoopFrames alone(memory_, GetParam());
  alone.take_running_task(state);
  EXPECT_EQ(find(alone).kind, wire::StepKind::kTask) << "without a frame of the loop";
  for (const uint64_t wrong : {heap_.object("function"), uint64_t{8}, UINT64_MAX}) {
    thread[place / 8] = wrong;
    frames.take_running_task(state);
    EXPECT_EQ(find(frames).kind, wire::StepKind::kTask) << "as without it";
    alone.take_running_task(state);
    EXPECT_EQ(find(alone).kind, wire::StepKind::kNone);
  }
}

TEST_P(Coroutines, MemoryThatWasChangedIsReadWithoutHarm) {
  const uint64_t coroutine = heap_.coroutine("main");
  const uint64_t task = heap_.task(heap_.string("a name"), coroutine);
  c_stack_[20] = task;
  const uint64_t handle = heap_.frame(0, heap_.handle(heap_.builtin("wakeup", task)));
  const uint64_t round = heap_.frame(7, heap_.number(1.5));
  const uint64_t leaf = heap_.frame(0, 0), frame = frame_of(coroutine), caller = heap_.frame(0, 0);
  const LoopFrames whole = run_by(leaf, frame, caller);
  ASSERT_EQ(find(whole).kind, wire::StepKind::kTask);
  const std::vector<uint64_t> words = heap_.words();
  std::mt19937_64 random(GetParam().version);
  for (int i = 0; i < 20'000; ++i) {
    heap_.words() = words;
    for (int change = 0; change < 8; ++change) {
      uint64_t& word = heap_.words()[random() % 1500];
      const uint64_t kinds[] = {random(), random() >> 17, word + random() % 64 - 32,
                                words[random() % 1500], word ^ uint64_t{1} << random() % 64};
      word = kinds[random() % std::size(kinds)];
    }
    LoopFrames frames = run_by(leaf, frame, caller);
    if (i % 2 == 0) {
      frames.add(CodeKind::kHandleRun, handle);
      frames.add(CodeKind::kLoopRound, round);
    }
    frames.running_task = i % 3 == 0 ? task : 0;
    pages_.clear();
    step_.sought_coroutine = 0;
    const LoopStep found = find(frames);
    EXPECT_LE(found.task, wire::kTaskNumbers);
    positions_->tail.store(positions_->head.load());
  }
}

std::string name_of(const ::testing::TestParamInfo<unwind::PythonLayout>& info) {
  return "Python3_" + std::to_string(info.param.version & 0xff);
}
INSTANTIATE_TEST_SUITE_P(Versions, LoopStepTest, ::testing::ValuesIn(unwind::kPythonLayouts),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Versions, Coroutines, ::testing::ValuesIn(unwind::kPythonLayouts),
                         name_of);

}  // namespace

// Memory of an interpreter that is not there.
uint64_t interpreter_float_type() {
  return float_type;
}

}  // namespace sampan::preload
