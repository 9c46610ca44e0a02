#include "preload/python/loop_step.h"

#include <cstring>
#include <string_view>

#include "base/byte_writer.h"
#include "preload/python/interpreter.h"
#include "unwind/python_frame.h"
#include "unwind/python_text.h"
#include "wire/control_block.h"

namespace sampan::preload {
namespace {

// The same in all versions that have a layout.
constexpr uint64_t kObjectType = 8;
constexpr uint64_t kTypeName = 24;   // a C string
constexpr uint64_t kTypeBase = 256;  // the type that it is derived from
constexpr uint64_t kHandleCallback = 24;
constexpr uint64_t kWrapperTask = 16;
constexpr uint64_t kBuiltinMethod = 16, kBuiltinSelf = 24;
constexpr uint64_t kFloatValue = 16;
constexpr uint8_t kOwnedByGenerator = 1;

constexpr std::string_view kModulePrefix = "_asyncio.";  // of its types, since 3.12
constexpr unsigned kMostBases = 4;
constexpr uint64_t kMostName = 256;  // bytes
constexpr size_t kReserve = wire::kThreadRingSize / 2;

class Objects {
 public:
  Objects(PythonMemory& memory, const unwind::PythonLayout& layout)
      : memory_(memory), layout_(layout), asyncio_(unwind::asyncio_layout(layout.version)) {}

  // 0: none.
  uint64_t word(uint64_t at) {
    uint64_t value = 0;
    return at != 0 && memory_.read(at, value) ? value : 0;
  }
  uint64_t local(uint64_t frame, unsigned i) {
    return word(frame + asyncio_.frame_locals + i * sizeof(uint64_t)) & ~unwind::kPointerTag;
  }
  bool is_a(uint64_t object, std::string_view type) {
    return is_text(type_name(word(object + kObjectType)), type);
  }
  bool is_text(uint64_t c_string, std::string_view text) {
    const uint64_t size = text.size();
    return c_string != 0 && memory_.readable(c_string, size + 1) &&
           std::memcmp(bytes(c_string), text.data(), size) == 0 && *bytes(c_string + size) == '\0';
  }
  // Also of a class that is derived from Task.
  bool is_task(uint64_t object) {
    uint64_t type = word(object + kObjectType);
    for (unsigned i = 0; type != 0 && i < kMostBases; ++i, type = word(type + kTypeBase)) {
      if (is_text(type_name(type), "Task") && type_name(type) != word(type + kTypeName))
        return true;
    }
    return false;
  }

  uint64_t coroutine_of(uint64_t task) { return word(task + asyncio_.task_coroutine); }
  uint64_t name_of(uint64_t task) { return word(task + asyncio_.task_name); }

  bool find_string(uint64_t string, unwind::PythonBytes& text) {
    return is_a(string, "str") && unwind::find_text(memory_, layout_, string, kMostName, text);
  }
  // The name of its function; none for other things that can be awaited.
  void find_coroutine_name(uint64_t coroutine, unwind::PythonBytes& text) {
    if (!is_a(coroutine, "coroutine") && !is_a(coroutine, "generator")) return;
    find_string(word(coroutine + asyncio_.coroutine_name), text);
  }

 private:
  static const char* bytes(uint64_t at) { return reinterpret_cast<const char*>(at); }
  // Without the module.
  uint64_t type_name(uint64_t type) {
    const uint64_t name = type == 0 ? 0 : word(type + kTypeName);
    const bool has_prefix =
        name != 0 && memory_.readable(name, kModulePrefix.size()) &&
        std::memcmp(bytes(name), kModulePrefix.data(), kModulePrefix.size()) == 0;
    return has_prefix ? name + kModulePrefix.size() : name;
  }

  PythonMemory& memory_;
  const unwind::PythonLayout& layout_;
  const unwind::AsyncioLayout& asyncio_;
};

uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 29;
}

// "Task-1": the name that a task has unless it is given one. Until somebody asks for it, 3.12 and
// later keep the number alone.
class TaskName {
 public:
  TaskName(Objects& objects, uint64_t name) {
    if (objects.find_string(name, text_)) return;
    text_ = {};
    if (!objects.is_a(name, "int")) return;
    constexpr uint64_t kSize = 16, kDigits = 24;  // of PyLongObject: the size is in units of 8
    constexpr unsigned kDigitBits = 30;
    const uint64_t size = objects.word(name + kSize) >> 3;
    const uint64_t digits = objects.word(name + kDigits);
    if (size > 2) return;
    uint64_t number = digits & 0xffffffff;
    if (size == 2) number |= digits >> 32 << kDigitBits;
    print(number);
  }

  const unwind::PythonBytes& text() const { return text_; }

  // From its first characters.
  uint64_t hash() const {
    uint64_t hash = text_.size;
    for (uint16_t i = 0; i < text_.size && i < kHashed; i += sizeof(uint64_t)) {
      uint64_t part = 0;
      const size_t left = text_.size - size_t{i};
      std::memcpy(&part, reinterpret_cast<const void*>(text_.at + i),
                  left < sizeof part ? left : sizeof part);
      hash = mix(hash, part);
    }
    return hash;
  }

 private:
  static constexpr uint16_t kHashed = 64;

  void print(uint64_t number) {
    constexpr std::string_view kPrefix = "Task-";
    size_t at = sizeof digits_;
    do {
      digits_[--at] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
    at -= kPrefix.size();
    std::memcpy(digits_ + at, kPrefix.data(), kPrefix.size());
    text_ = {reinterpret_cast<uint64_t>(digits_ + at), static_cast<uint16_t>(sizeof digits_ - at),
             0};
  }

  char digits_[32];
  unwind::PythonBytes text_;
};

void write_text(ByteWriter& writer, const unwind::PythonBytes& text) {
  writer.fixed(text.width);
  writer.fixed(text.size);
  if (text.size != 0) writer.bytes(reinterpret_cast<const void*>(text.at), text.size);
}

// The number of a task, announced; 0: the ring had no room.
uint8_t number_of_task(Objects& objects, uint64_t task, uint64_t coroutine, wire::RingWriter& ring,
                       LoopStep& step) {
  const TaskName name(objects, task == 0 ? 0 : objects.name_of(task));
  const uint64_t object = mix(mix(0, task), coroutine);
  const uint64_t identity = mix(object, name.hash()) | 1;
  const auto index = static_cast<uint8_t>((identity >> 32) % wire::kTaskNumbers);
  const auto number = static_cast<uint8_t>(index + 1);
  if (step.tasks[index] == identity) return number;
  unwind::PythonBytes function;
  objects.find_coroutine_name(coroutine, function);
  const size_t size = sizeof number + sizeof object + name.text().size + function.size +
                      2 * (sizeof function.width + sizeof function.size);
  if (!ring.has_room(size, kReserve)) return 0;
  const std::span<uint8_t> room = ring.begin(size, kReserve);
  if (room.empty()) return 0;
  ByteWriter writer(room);
  writer.fixed(number);
  writer.fixed(identity);
  write_text(writer, name.text());
  write_text(writer, function);
  ring.commit(static_cast<uint8_t>(wire::RecordType::kPythonTask), writer.size());
  step.tasks[index] = identity;
  return number;
}

// The task that a callback of the loop is for. `is_task`: it is a step of one, known or not.
uint64_t task_of_callback(Objects& objects, uint64_t callback, bool& is_step) {
  uint64_t task = 0;
  is_step = true;
  if (objects.is_a(callback, "TaskStepMethWrapper") ||
      objects.is_a(callback, "TaskWakeupMethWrapper")) {
    task = objects.word(callback + kWrapperTask);
  } else if (objects.is_a(callback, "builtin_function_or_method") &&
             objects.is_text(objects.word(objects.word(callback + kBuiltinMethod)), "wakeup")) {
    task = objects.word(callback + kBuiltinSelf);
  } else {
    is_step = false;
  }
  return task != 0 && objects.is_task(task) ? task : 0;
}

// In the C stack, above the frame that runs the coroutine, is the function that runs the task.
uint64_t seek_task(Objects& objects, PythonMemory& memory, uint64_t coroutine, uint64_t cfa) {
  constexpr unsigned kWords = 96;
  constexpr uint64_t kObjectAlignment = 15;
  uint64_t before = 0;
  for (unsigned i = 0; i < kWords; ++i) {
    const uint64_t at = cfa + i * sizeof(uint64_t);
    if (!memory.on_stack(at)) return 0;
    const uint64_t word = objects.word(at);
    if (word == 0 || word == before || (word & kObjectAlignment) != 0 || memory.on_stack(word)) {
      continue;
    }
    before = word;
    if (objects.coroutine_of(word) == coroutine && objects.is_task(word)) return word;
  }
  return 0;
}

uint64_t task_of_coroutine(Objects& objects, PythonMemory& memory, const LoopFrames& frames,
                           LoopStep& step) {
  constexpr uint32_t kRemembered = 64;  // samples: another coroutine may come to its place
  if (step.sought_coroutine == frames.coroutine && ++step.sought_again < kRemembered) {
    const uint64_t task = step.sought_task;
    if (task == 0) return 0;
    if (objects.coroutine_of(task) == frames.coroutine && objects.is_task(task)) return task;
  }
  step.sought_coroutine = frames.coroutine;
  step.sought_task = seek_task(objects, memory, frames.coroutine, frames.coroutine_cfa);
  step.sought_again = 0;
  return step.sought_task;
}

// The same for all samples of one step, and for no other step.
uint64_t id_of_step(Objects& objects, const LoopFrames& frames, uint64_t handle) {
  constexpr unsigned kLocals = 10;  // of the 11 or 12 that it has
  const uint64_t float_type = interpreter_float_type();
  if (frames.run_once == 0 || float_type == 0) return 0;
  uint64_t id = mix(0, handle);
  bool has_time = false;
  for (unsigned i = 1; i < kLocals; ++i) {
    const uint64_t value = objects.local(frames.run_once, i);
    if (value == 0 || objects.word(value + kObjectType) != float_type) continue;
    id = mix(id, objects.word(value + kFloatValue));
    has_time = true;
  }
  return has_time ? id | 1 : 0;
}

}  // namespace

uint64_t LoopFrames::generator_of(uint64_t frame) {
  uint64_t generator = 0;
  if (asyncio_.frame_owner == 0) {
    memory_.read(frame + layout_.frame_generator, generator);
    return generator;
  }
  uint8_t owner = 0;
  const bool is_generators =
      memory_.read(frame + asyncio_.frame_owner, owner) && owner == kOwnedByGenerator;
  return is_generators ? frame - asyncio_.coroutine_frame : 0;
}

// A coroutine that another one awaits is called by that one's frame.
void LoopFrames::end_group(uint64_t first, uint64_t last, uint64_t cfa) {
  if (coroutine != 0) return;
  if (generator_ != 0 && generator_of(first) == 0 &&
      Objects(memory_, layout_).is_a(generator_, "coroutine")) {
    coroutine = generator_;
    coroutine_cfa = generator_cfa_;
    return;
  }
  generator_ = generator_of(last);
  generator_cfa_ = cfa;
}

void find_step(PythonMemory& memory, const unwind::PythonLayout& layout, const LoopFrames& frames,
               wire::RingWriter& ring, LoopStep& step) {
  step.kind = wire::StepKind::kNone;
  step.task = 0;
  step.id = 0;
  if (frames.handle_run == 0 && frames.coroutine == 0 && frames.running_task == 0) return;
  Objects objects(memory, layout);
  const bool is_said = frames.running_task != 0 && objects.is_task(frames.running_task);
  if (frames.handle_run == 0 && frames.coroutine == 0 && !is_said) return;
  uint64_t task = 0;
  bool is_step = frames.coroutine != 0;
  if (frames.handle_run != 0) {
    const uint64_t handle = objects.local(frames.handle_run, 0);
    task = task_of_callback(objects, objects.word(handle + kHandleCallback), is_step);
    step.id = id_of_step(objects, frames, handle);
    if (!is_said && !is_step && frames.coroutine == 0 && !frames.in_python_task) {
      step.kind = wire::StepKind::kCallback;
      return;
    }
  }
  if (is_said) task = frames.running_task;
  uint64_t coroutine = task == 0 ? 0 : objects.coroutine_of(task);
  if (!is_said && frames.coroutine != 0 && frames.coroutine != coroutine) {
    // Another task's, or driven by this one in another way.
    const uint64_t other = task_of_coroutine(objects, memory, frames, step);
    if (other != 0 || task == 0 || frames.in_python_task) {
      coroutine = frames.coroutine;
      task = other;
    }
  }
  step.kind = task != 0 ? wire::StepKind::kTask : wire::StepKind::kUnknown;
  step.task = number_of_task(objects, task, coroutine, ring, step);
}

}  // namespace sampan::preload
