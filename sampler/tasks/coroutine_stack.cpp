#include "sampler/tasks/coroutine_stack.h"

#include <algorithm>
#include <string_view>

#include "unwind/python_code.h"
#include "unwind/python_frame.h"

namespace sampan::sampler {
namespace {

using unwind::Delegation;
using unwind::ValueStack;

constexpr size_t kMostFrames = 1024;
constexpr uint64_t kFirstMember = 16;
constexpr uint64_t kCodeString = 48, kBytesData = 32;  // co_code, until 3.10
constexpr uint8_t kYieldFrom = 72;                     // the same

// Objects that hand on what they are told to the object that is their first member.
constexpr std::string_view kWrappers[] = {"async_generator_asend", "async_generator_athrow",
                                          "anext_awaitable", "coroutine_wrapper"};

}  // namespace

bool CoroutineReader::is_coroutine(uint64_t object) {
  const std::string_view type = objects_.type_name(object);
  return type == "coroutine" || type == "generator" || type == "async_generator";
}

// 0: it has ended.
uint64_t CoroutineReader::frame_of(uint64_t coroutine) {
  return asyncio_.coroutine_frame != 0 ? coroutine + asyncio_.coroutine_frame
                                       : objects_.word(coroutine + kFirstMember);
}

std::optional<int8_t> CoroutineReader::state_of(uint64_t coroutine, uint64_t frame) {
  return asyncio_.coroutine_state != 0
             ? objects_.value<int8_t>(coroutine + asyncio_.coroutine_state)
             : objects_.value<int8_t>(frame + asyncio_.frame_state);
}

// Whether a frame that is suspended awaits something, rather than that it has yielded.
bool CoroutineReader::delegates(int8_t state, uint64_t frame) {
  switch (asyncio_.delegation) {
    case Delegation::kState: return state == -1;
    case Delegation::kArgument: {
      constexpr uint8_t kMask = 3, kAfterYieldFrom = 2;  // of RESUME's argument
      const uint64_t next = objects_.word(frame + layout_.frame_instruction) + unwind::kBytesOfUnit;
      return state == -1 &&
             (objects_.value<uint8_t>(next + 1).value_or(0) & kMask) >= kAfterYieldFrom;
    }
    case Delegation::kOpcode: break;
  }
  const auto last = objects_.value<int32_t>(frame + layout_.frame_instruction);
  const uint64_t code = objects_.word(objects_.word(frame + layout_.frame_code) + kCodeString);
  if (!last || *last < 0 || code == 0) return false;
  const uint64_t next = static_cast<uint64_t>(*last) * layout_.index_bytes + unwind::kBytesOfUnit;
  return objects_.value<uint8_t>(code + kBytesData + next) == kYieldFrom;
}

// 0: nothing. It is the last value on the frame's stack.
uint64_t CoroutineReader::awaited_by(uint64_t coroutine, uint64_t frame) {
  const auto state = state_of(coroutine, frame);
  if (!state || !delegates(*state, frame)) return 0;
  uint64_t end = 0;
  const uint64_t top = frame + asyncio_.frame_top;
  switch (asyncio_.value_stack) {
    case ValueStack::kEnd: end = objects_.word(top); break;
    case ValueStack::kDepth:
    case ValueStack::kIndex: {
      constexpr int32_t kMostValues = 1 << 20;
      const int32_t count = objects_.value<int32_t>(top).value_or(0);
      if (count <= 0 || count > kMostValues) return 0;
      const uint64_t first = asyncio_.value_stack == ValueStack::kDepth
                                 ? objects_.word(frame + asyncio_.frame_values)
                                 : frame + asyncio_.frame_locals;
      end = first + 8 * static_cast<uint64_t>(count);
      break;
    }
  }
  return end == 0 ? 0 : objects_.word(end - 8) & ~unwind::kPointerTag;
}

const PythonCode* CoroutineReader::code_at(uint64_t at) {
  const auto [place, is_new] = codes_.try_emplace(at);
  std::optional<PythonCode>& known = place->second;
  unwind::CodeObject code{};
  unwind::CodeTexts texts;
  ProcessPages& memory = objects_.memory();
  const auto copy_of = [&](const unwind::PythonBytes& bytes) {
    std::vector<uint8_t> copy(bytes.size);
    if (!memory.copy(bytes.at, std::as_writable_bytes(std::span(copy)))) copy.clear();
    return copy;
  };
  if (is_new && objects_.is_a(at, "code") && unwind::read_code(memory, layout_, at, code) &&
      !code.is_internal() && unwind::find_texts(memory, layout_, code, texts)) {
    known = {
        python_text(texts.name.width, copy_of(texts.name)),
        python_text(texts.file.width, copy_of(texts.file)),
        code.first_line > 0 ? static_cast<uint32_t>(code.first_line) : 0,
        {static_cast<wire::PythonLineTable>(texts.line_table.width), copy_of(texts.line_table)}};
  }
  return known ? &*known : nullptr;
}

// False: it is no frame of a function.
bool CoroutineReader::add_frame(uint64_t frame, std::vector<TaskFrame>& frames) {
  const uint64_t at = objects_.word(frame + layout_.frame_code) & ~unwind::kPointerTag;
  const PythonCode* const code = code_at(at);
  if (code == nullptr) return false;
  uint32_t unit = 0;  // plus 1; 0: before the first one
  if (layout_.index_bytes != 0) {
    const int32_t index = objects_.value<int32_t>(frame + layout_.frame_instruction).value_or(-1);
    if (index >= 0) {
      unit = static_cast<uint32_t>(index) * layout_.index_bytes / unwind::kBytesOfUnit + 1;
    }
  } else {
    const uint64_t instruction = objects_.word(frame + layout_.frame_instruction);
    const uint64_t first = at + layout_.code_instructions;
    unit =
        static_cast<uint32_t>((instruction + unwind::kBytesOfUnit - first) / unwind::kBytesOfUnit);
  }
  const PythonPosition position = unit == 0
                                      ? PythonPosition{code->first_line}
                                      : python_position(code->lines, code->first_line, unit - 1);
  frames.push_back({code->name, code->file, position.line, position.column});
  return true;
}

// The functions of the thread, from the one that it executes to the coroutine of the task. False: the
// coroutine is not among them.
bool CoroutineReader::add_running(uint64_t outermost, const PythonThreadState& thread,
                                  std::vector<TaskFrame>& frames) {
  uint64_t frame = layout_.thread_frame != 0
                       ? objects_.word(thread.state + layout_.thread_frame)
                       : objects_.word(objects_.word(thread.state + layout_.thread_cframe) +
                                       layout_.cframe_frame);
  for (size_t i = 0; frame != 0 && i < unwind::kMaxPythonFrames; ++i) {
    add_frame(frame, frames);
    if (frame == outermost) return true;
    frame = objects_.word(frame + layout_.frame_previous);
  }
  frames.clear();
  return false;
}

CoroutineStack CoroutineReader::read(uint64_t coroutine, const PythonThreadState* thread) {
  CoroutineStack stack;
  const uint64_t outermost = is_coroutine(coroutine) ? frame_of(coroutine) : 0;
  stack.runs = outermost != 0 && state_of(coroutine, outermost) == asyncio_.running;
  if (stack.runs && thread != nullptr && add_running(outermost, *thread, stack.frames))
    return stack;
  uint64_t awaitable = coroutine;
  for (size_t i = 0; awaitable != 0; ++i) {
    if (i == kMostFrames) {
      stack.is_cut = true;
      break;
    }
    if (is_coroutine(awaitable)) {
      const uint64_t frame = frame_of(awaitable);
      if (frame == 0 || !add_frame(frame, stack.frames)) {
        stack.is_cut = true;
        break;
      }
      awaitable = awaited_by(awaitable, frame);
    } else if (std::ranges::find(kWrappers, objects_.type_name(awaitable)) != std::end(kWrappers)) {
      awaitable = objects_.word(awaitable + kFirstMember);
    } else {
      break;
    }
  }
  std::ranges::reverse(stack.frames);
  return stack;
}

std::string CoroutineReader::name_of(uint64_t coroutine) {
  if (!is_coroutine(coroutine)) return {};
  return objects_.text(objects_.word(coroutine + asyncio_.coroutine_name)).value_or("");
}

}  // namespace sampan::sampler
