// What a task does: the coroutines that await each other, from the outermost one to the one that is
// suspended, or, if it runs, the functions of its thread. In an interpreter of another process that
// stands still.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "sampler/process/python_threads.h"
#include "sampler/recorder/python_code.h"
#include "sampler/recorder/python_objects.h"
#include "unwind/asyncio_layout.h"

namespace sampan::sampler {

struct TaskFrame {
  std::string function;  // qualified
  std::string file;
  uint32_t line;        // 0: not known
  uint32_t column = 0;  // the same; in bytes of UTF-8, from 1

  friend bool operator==(const TaskFrame&, const TaskFrame&) = default;
};

struct CoroutineStack {
  std::vector<TaskFrame> frames;  // innermost first
  bool runs = false;              // the outermost coroutine is being executed
  bool is_cut = false;            // there are more, or some cannot be read
};

class CoroutineReader {
 public:
  CoroutineReader(PythonObjects& objects, const unwind::AsyncioLayout& asyncio)
      : objects_(objects), layout_(objects.layout()), asyncio_(asyncio) {}

  // `coroutine`: of a task. `thread`: that runs its loop; null: none does.
  CoroutineStack read(uint64_t coroutine, const PythonThreadState* thread);
  // The name of its function, qualified; empty: it is no coroutine.
  std::string name_of(uint64_t coroutine);

 private:
  bool is_coroutine(uint64_t object);
  uint64_t frame_of(uint64_t coroutine);
  std::optional<int8_t> state_of(uint64_t coroutine, uint64_t frame);
  uint64_t awaited_by(uint64_t coroutine, uint64_t frame);
  bool delegates(int8_t state, uint64_t frame);
  bool add_frame(uint64_t frame, std::vector<TaskFrame>& frames);
  bool add_running(uint64_t outermost, const PythonThreadState& thread,
                   std::vector<TaskFrame>& frames);
  const PythonCode* code_at(uint64_t code);

  PythonObjects& objects_;
  const unwind::PythonLayout& layout_;
  const unwind::AsyncioLayout& asyncio_;
  std::unordered_map<uint64_t, std::optional<PythonCode>> codes_;
};

}  // namespace sampan::sampler
