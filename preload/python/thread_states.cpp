#include "preload/python/thread_states.h"

#include "preload/python/interpreter.h"
#include "unwind/python_chain.h"

namespace sampan::preload {
namespace {

// How much of the C stack above the run of the eval loop is searched. run_string() and what it calls
// need 1 to 2 KB.
constexpr uint64_t kSoughtBytes = 8192;
constexpr uint32_t kRemembered = 64;  // samples in which nothing is sought again

// struct pyinterpreters: the newest interpreter, then the main one.
constexpr uint64_t kMainInterpreter = 8;

class Search {
 public:
  Search(PythonMemory& memory, const unwind::PythonLayout& layout, uint64_t thread, uint64_t cfa)
      : memory_(memory), layout_(layout), thread_(thread), cfa_(cfa) {
    if (!memory.read(thread + place(), id_)) id_ = 0;
  }

  bool is_outer(uint64_t state) {
    uint64_t id = 0;
    if (id_ == 0 || state == 0 || state == thread_ || !memory_.read(state + place(), id) ||
        id != id_) {
      return false;
    }
    const unwind::PythonChain<PythonMemory> chain(memory_, layout_, state);
    return chain.has_group() && chain.mark() >= cfa_;
  }

  // From the run of the eval loop towards the root.
  uint64_t find() {
    uint64_t before = 0;
    for (uint64_t at = cfa_; at < cfa_ + kSoughtBytes; at += sizeof at) {
      uint64_t word = 0;
      if (!memory_.on_stack(at) || !memory_.read(at, word)) return 0;
      if (word == before || word % sizeof word != 0 || memory_.on_stack(word)) continue;
      before = word;
      if (is_outer(word)) return word;
    }
    return 0;
  }

 private:
  static uint64_t place() { return interpreter_runtime_layout().thread_id; }

  PythonMemory& memory_;
  const unwind::PythonLayout& layout_;
  uint64_t thread_, cfa_;
  uint64_t id_ = 0;  // of pthread_self()
};

}  // namespace

uint64_t innermost_state(PythonMemory& memory, const unwind::PythonLayout& layout,
                         uint64_t thread) {
  const unwind::PythonRuntimeLayout& runtime = layout.runtime;
  uint64_t current = 0, id = 0, current_id = 0;
  const bool is_other = runtime.current_thread != 0 && interpreter_runtime() != 0 &&
                        memory.read(interpreter_runtime() + runtime.current_thread, current) &&
                        current != 0 && current != thread;
  return is_other && memory.read(thread + runtime.thread_id, id) &&
                 memory.read(current + runtime.thread_id, current_id) && current_id == id
             ? current
             : thread;
}

bool has_subinterpreters(PythonMemory& memory) {
  const uint64_t first = interpreter_runtime_layout().first_interpreter;
  const uint64_t newest = interpreter_runtime() + first;
  uint64_t one = 0, main = 0;
  return first != 0 && interpreter_runtime() != 0 && memory.read(newest, one) &&
         memory.read(newest + kMainInterpreter, main) && one != main;
}

uint64_t outer_state(PythonMemory& memory, const unwind::PythonLayout& layout, uint64_t thread,
                     uint64_t cfa, OuterState& last) {
  Search search(memory, layout, thread, cfa);
  if (last.of == thread) {
    if (search.is_outer(last.state)) return last.state;
    if (last.state == 0 && ++last.sought_again < kRemembered) return 0;
  }
  last = {thread, search.find(), 0};
  return last.state;
}

}  // namespace sampan::preload
