// An interpreter's memory, of any version, with any bytes of it changed: whatever it holds, merging its frames into a native
// stack ends, reads nothing that is not mapped, and gives either all native frames with Python's between them, or them
// alone. The memory lies between pages that cannot be read.
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "base/byte_cursor.h"
#include "preload/python/code_table.h"
#include "preload/python/interpreter.h"
#include "preload/python/python_stack.h"
#include "unwind/python_chain.h"
#include "unwind/python_layout.h"
#include "wire/control_block.h"
#include "wire/deep_stack.h"
#include "wire/record.h"

using namespace sampan;

namespace {

constexpr uint64_t kBase = 0x2000'0000'0000, kPage = 4096;
constexpr uint64_t kThread = kBase, kChunk = kBase + 0x1000, kHeap = kBase + 0x2000,
                   kTexts = kBase + 0x3000, kStackLow = kBase + 0x8000, kEnd = kBase + 0x10000;
constexpr uint64_t kEvalLoop = 0x500000, kOtherCode = 0x600000;
constexpr unsigned kNatives = 8, kInnerRun = 1, kOuterRun = 4;
constexpr uint64_t kFrameSize = 0x80, kCodeSize = 0x200;

const unwind::PythonLayout* layout;
const preload::EvalLoop kEvalLoopCode{kEvalLoop, kEvalLoop + 0x1000};

template <typename T>
void put(uint64_t at, T value) {
  std::memcpy(reinterpret_cast<void*>(at), &value, sizeof value);
}
constexpr uint64_t cfa(unsigned native) {
  return kStackLow + 0x400 * (native + 1);
}
constexpr uint64_t mark(unsigned native) {
  return cfa(native) - 0x90;
}

void make_text(uint64_t at, const char* text) {
  constexpr uint32_t kAsciiState = 1u << 2 | 1u << 5 | 1u << 6;
  put<uint64_t>(at + 16, std::strlen(text));
  put<uint64_t>(at + 24, at * 31);  // the hash
  put<uint32_t>(at + 32, kAsciiState);
  std::memcpy(reinterpret_cast<void*>(at + layout->string_ascii), text, std::strlen(text));
}

uint64_t make_code(unsigned number) {
  const uint64_t code = kHeap + kCodeSize * number, texts = kTexts + 0x200 * number;
  const char* const names[] = {"one", "two", "three", "four"};
  make_text(texts, names[number]);
  make_text(texts + 0x80, "program.py");
  put<uint64_t>(texts + 0x100 + 16, 32);  // a line table
  put(code + layout->code_constants, kTexts);
  put(code + layout->code_names, kTexts);
  put(code + layout->code_name, texts);
  put(code + layout->code_qualified_name, texts);
  put(code + layout->code_file, texts + 0x80);
  put(code + layout->code_line_table, texts + 0x100);
  put<int32_t>(code + layout->code_first_line, 7);
  return code;
}

// Frame `number`, counted from the root, whose caller is at `previous`; its address.
uint64_t make_frame(unsigned number, uint64_t previous, bool is_entry) {
  const uint64_t frame = kChunk + 0x40 + kFrameSize * number, code = make_code(number);
  put(frame + layout->frame_code, code);
  put(frame + layout->frame_previous, previous);
  if (layout->groups == unwind::PythonGroups::kFrameObjects) {
    put<int32_t>(frame + layout->frame_instruction, 4);
    if (layout->frame_stack_depth != 0) put<int32_t>(frame + layout->frame_stack_depth, -1);
  } else {
    put(frame + layout->frame_instruction, code + layout->code_instructions + 8);
  }
  if (layout->frame_is_entry != 0) put<uint8_t>(frame + layout->frame_is_entry, is_entry);
  return frame;
}

// Two runs of the eval loop with two frames each; where a run has one frame, with one.
void make_interpreter() {
  const bool has_shims = layout->groups == unwind::PythonGroups::kShimFrames;
  const bool has_pairs = layout->groups != unwind::PythonGroups::kFrameObjects;
  uint64_t frame = 0, outer = 0;
  if (has_shims) frame = mark(kOuterRun);
  frame = make_frame(0, frame, true);
  if (has_pairs) frame = make_frame(1, frame, false);
  outer = frame;
  if (has_shims)
    put(mark(kInnerRun) + layout->frame_previous, std::exchange(frame, mark(kInnerRun)));
  frame = make_frame(2, frame, true);
  if (has_pairs) frame = make_frame(3, frame, false);
  if (layout->thread_frame != 0) put(kThread + layout->thread_frame, frame);
  if (layout->thread_datastack != 0) put(kThread + layout->thread_datastack, kChunk);
  put<uint64_t>(kChunk + 8, kPage);
  if (layout->thread_cframe == 0) return;
  const uint64_t root = kThread + 0x800, distance = has_shims ? 0x20 : 0;
  const uint64_t inner_cframe = mark(kInnerRun) - distance,
                 outer_cframe = mark(kOuterRun) - distance;
  put(kThread + layout->thread_cframe, inner_cframe);
  put(inner_cframe + layout->cframe_previous, outer_cframe);
  put(outer_cframe + layout->cframe_previous, root);
  if (!has_pairs) return;
  put(inner_cframe + layout->cframe_frame, frame);
  put(outer_cframe + layout->cframe_frame, outer);
}

void mutate(ByteCursor& input) {
  while (input.remaining() >= 5) {
    const uint64_t at = kBase + input.u16();
    const uint8_t kind = input.u8();
    const uint64_t value = input.u16();
    if (at + sizeof(uint64_t) > kEnd) continue;
    switch (kind % 6) {
      case 0: put(at & ~uint64_t{7}, kBase + value); break;
      case 1: put(at & ~uint64_t{7}, value); break;
      case 2: put(at, static_cast<uint8_t>(value)); break;
      case 3: put(at & ~uint64_t{7}, kEnd - value % 64); break;
      case 4: put(at & ~uint64_t{7}, value << 48 | value); break;
      default:
        put(at & ~uint64_t{7}, static_cast<int64_t>(-1) - static_cast<int64_t>(value));
        break;
    }
  }
}

// The native frames of `merged`: all that are not Python's.
std::vector<uint64_t> natives_of(std::span<const uint64_t> merged) {
  std::vector<uint64_t> natives;
  std::copy_if(merged.begin(), merged.end(), std::back_inserter(natives),
               [](uint64_t frame) { return !wire::is_python_frame(frame); });
  return natives;
}

bool start() {
  return mmap(reinterpret_cast<void*>(kBase - kPage), kEnd - kBase + 2 * kPage, PROT_NONE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != MAP_FAILED &&
         mprotect(reinterpret_cast<void*>(kBase), kEnd - kBase, PROT_READ | PROT_WRITE) == 0 &&
         preload::start_code_table();
}

}  // namespace

// In place of preload/python/interpreter.cpp: no interpreter is there.
namespace sampan::preload {
const unwind::PythonLayout* interpreter_layout() {
  return layout;
}
const EvalLoop& interpreter_eval_loop() {
  return kEvalLoopCode;
}
uint64_t interpreter_float_type() {
  return 0;
}
uint64_t interpreter_runtime() {
  return kThread + 0xc00;
}
const unwind::PythonRuntimeLayout& interpreter_runtime_layout() {
  return layout->runtime;
}
}  // namespace sampan::preload

// The first byte chooses the version, the second the room for frames; then changes of five bytes each.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bool started = start();
  if (!started) __builtin_trap();
  if (size < 2 || size > 4096) return 0;
  ByteCursor input(std::span(data, size));
  layout = &unwind::kPythonLayouts[input.u8() % std::size(unwind::kPythonLayouts)];
  const uint8_t shape = input.u8();
  std::memset(reinterpret_cast<void*>(kBase), 0, kEnd - kBase);
  make_interpreter();
  const bool is_changed = input.remaining() >= 5;
  mutate(input);

  std::vector<uint64_t> native(kNatives), cfas(kNatives), frames(shape % 2 == 0 ? 2048 : kNatives);
  for (unsigned i = 0; i < kNatives; ++i) {
    const bool is_run = i == kInnerRun || i == kOuterRun || (i == 0 && (shape & 2) != 0);
    native[i] = (is_run ? kEvalLoop + 0x10 : kOtherCode) + i;
    cfas[i] = cfa(i);
  }
  preload::ReadablePages pages{};
  preload::PythonState state{native, cfas, &pages, 0, 0, 0, {}};
  const unwind::StackBounds stack{kStackLow, kEnd, true};
  wire::RingPositions positions{};
  std::vector<uint8_t> buffer(wire::kThreadRingSize);
  wire::RingWriter ring(&positions, buffer);
  for (int round = 0; round < 2; ++round) {
    const unwind::WalkResult result = preload::merge_python(
        state, {kNatives, wire::StopReason::kRoot}, stack, kThread, ring, frames);
    if (result.depth > frames.size()) __builtin_trap();
    const std::span<const uint64_t> merged = std::span(frames).first(result.depth);
    const auto left_out = std::ranges::find(merged, wire::kFramesLeftOut);
    const bool is_full = left_out != merged.end();
    const std::vector<uint64_t> seen = natives_of({merged.begin(), left_out});
    if (!std::equal(seen.begin(), seen.end(), native.begin(),
                    native.begin() + std::min(seen.size(), native.size())) ||
        (!is_full && seen.size() != native.size())) {
      __builtin_trap();
    }
    if (result.stop == wire::StopReason::kPythonTorn && result.depth != kNatives) __builtin_trap();
    if (is_changed || frames.size() == kNatives || (shape & 2) != 0) continue;
    // Unchanged, it is whole.
    const size_t expected = layout->groups == unwind::PythonGroups::kFrameObjects ? 2 : 4;
    if (result.stop != wire::StopReason::kRoot || merged.size() != kNatives + expected)
      __builtin_trap();
  }
  return 0;
}
