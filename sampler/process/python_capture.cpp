#include "sampler/process/python_capture.h"

#include <algorithm>

#include "unwind/python_chain.h"
#include "unwind/python_code.h"
#include "unwind/python_frame.h"
#include "unwind/python_frame_objects.h"

namespace sampan::sampler {
namespace {

// More than any layout has of a frame in front of its variables.
constexpr uint64_t kFrameHead = 112;
// The same of a thread state.
constexpr uint64_t kThreadHead = 1024;
constexpr size_t kMostKept = 10'000;
constexpr size_t kMostSeen = 100'000;
// How far up the stack the cframe around one that is not written yet may be.
constexpr uint64_t kLargestEvalFrame = 4096;
constexpr unsigned kMostGuesses = 8;
constexpr uint64_t kThreadSize = 4096;  // the last cframe is in the thread state

}  // namespace

void PythonCapture::capture(pid_t tid, Avma stack_low, std::span<const std::byte> stack,
                            CapturedPython& captured) {
  captured.new_codes.clear();
  if (pages_.size() > kMostKept) pages_.clear();
  std::vector<uint64_t>& pages = pages_[tid];
  captured.memory.start_capture(pid_, pages);
  captured.memory.use_stack(stack_low, stack);
  threads_.find(tid, captured.states);
  captured.has_subinterpreters = threads_.has_subinterpreters();
  for (const uint64_t state : captured.states) capture_state(Avma::at(state), captured);
  if (captured.states.size() > 1) order_states(captured);
  captured.memory.stop_capture();
  captured.memory.used_pages(pages);
}

void PythonCapture::capture_state(Avma state, CapturedPython& captured) {
  const unwind::PythonLayout& layout = interpreter_->layout;
  CapturedMemory& memory = captured.memory;
  // The last cframe lies near the end of the state, maybe on another page than its beginning.
  (void)memory.readable(state, kThreadHead);
  uint64_t cframe = 0, frame = 0;
  if (layout.thread_cframe != 0) memory.read(state + layout.thread_cframe, cframe);
  if (layout.thread_frame != 0) {
    memory.read(state + layout.thread_frame, frame);
  } else {
    memory.read(cframe + layout.cframe_frame, frame);
  }
  const bool whole = capture_frames(frame, captured);
  if (!whole && layout.thread_frame == 0) capture_around_beginning(state, cframe, captured);
}

// Follows the links alone, in order to touch what a walk reads; what the frames mean is the walk's
// business. False: the links lead nowhere.
bool PythonCapture::capture_frames(uint64_t frame, CapturedPython& captured) {
  CapturedMemory& memory = captured.memory;
  const unwind::PythonLayout& layout = interpreter_->layout;
  bool is_first = true;
  for (unsigned i = 0; frame != 0; ++i) {
    uint64_t code = 0, previous = 0;
    if (i == unwind::kMaxPythonFrames || !memory.readable(frame, kFrameHead) ||
        !memory.read(frame + layout.frame_code, code) ||
        !memory.read(frame + layout.frame_previous, previous)) {
      return false;
    }
    // A shim frame, on the C stack, has no code that counts.
    if (!capture_code(code & ~unwind::kPointerTag, captured) && is_first &&
        !memory.on_stack(frame)) {
      return false;
    }
    is_first = false;
    frame = previous;
  }
  return true;
}

// A run of the eval loop has linked its cframe and not written it yet. The cframe around it is further
// up the stack, the nearest words that look like one. A guess that is wrong captures too much; the
// walk finds the cframe by the native stack.
void PythonCapture::capture_around_beginning(Avma state, uint64_t cframe,
                                             CapturedPython& captured) {
  CapturedMemory& memory = captured.memory;
  const unwind::PythonLayout& layout = interpreter_->layout;
  unsigned guesses = 0;
  for (uint64_t slot = cframe + 8; slot < cframe + kLargestEvalFrame; slot += 8) {
    uint64_t frame = 0, above = 0;
    if (!memory.on_stack(slot) || !memory.read(slot + layout.cframe_frame, frame) ||
        !memory.read(slot + layout.cframe_previous, above)) {
      return;
    }
    const bool is_last = above - state < kThreadSize;
    const bool may_be_cframe = is_last || (memory.on_stack(above) && above > slot);
    if (!may_be_cframe || frame == 0 || frame % 8 != 0 || memory.on_stack(frame)) continue;
    if (capture_frames(frame, captured) || ++guesses == kMostGuesses) return;
  }
}

// By their innermost runs of the eval loop, up the stack. A state whose run is not known comes first: its chain is torn. 3.9
// has no marks, and the merge finds that its states do not fit.
void PythonCapture::order_states(CapturedPython& captured) const {
  const unwind::PythonLayout& layout = interpreter_->layout;
  if (layout.groups == unwind::PythonGroups::kFrameObjects && layout.thread_cframe == 0) return;
  std::ranges::sort(captured.states, {}, [&](uint64_t state) {
    uint64_t mark = 0;
    if (layout.groups != unwind::PythonGroups::kFrameObjects) {
      mark = unwind::PythonChain<CapturedMemory>(captured.memory, layout, state).mark();
    } else {
      unwind::CframeRuns<CapturedMemory>(captured.memory, layout, state).next(mark);
    }
    return mark;
  });
}

bool PythonCapture::capture_code(uint64_t at, CapturedPython& captured) {
  CapturedMemory& memory = captured.memory;
  unwind::CodeObject code{};
  if (!unwind::read_code(memory, interpreter_->layout, at, code)) return false;
  const uint64_t identity = unwind::identity_of(at, code);
  if (seen_.contains(identity)) return true;
  unwind::CodeTexts texts;
  if (unwind::find_texts(memory, interpreter_->layout, code, texts)) {
    if (seen_.size() == kMostSeen) seen_.clear();
    seen_.insert(identity);
    captured.new_codes.push_back(at);
  }
  return true;
}

}  // namespace sampan::sampler
