// Futures of asyncio, and tasks, which are futures, too: those that are written in C, and those in
// Python. In an interpreter of another process that stands still.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sampler/recorder/python_objects.h"
#include "unwind/asyncio_layout.h"

namespace sampan::sampler {

// Addresses of objects; 0: none.
struct Future {
  bool is_pending = false;
  uint64_t loop = 0;
  std::vector<uint64_t> callbacks = {};
  // Only tasks have these.
  uint64_t name = 0;
  uint64_t coroutine = 0;  // 0: it is no task
  uint64_t waiter = 0;     // what it waits for
};

class FutureReader {
 public:
  FutureReader(PythonObjects& objects, const unwind::AsyncioLayout& asyncio)
      : objects_(objects), asyncio_(asyncio) {}

  // Nothing: it is no future.
  std::optional<Future> read(uint64_t object);
  std::string name_of(uint64_t name);
  // The futures that its callbacks will end, or may.
  std::vector<uint64_t> ended_by(const Future& future);

 private:
  enum class Kind { kOther, kInC, kInPython };
  Kind kind_of(uint64_t object, bool& is_task);
  Future in_c(uint64_t object, bool is_task);
  Future in_python(uint64_t object, bool is_task);
  uint64_t unless_none(uint64_t object) { return objects_.is_a(object, "NoneType") ? 0 : object; }
  void add_callbacks(uint64_t list, std::vector<uint64_t>& callbacks);

  PythonObjects& objects_;
  const unwind::AsyncioLayout& asyncio_;
};

}  // namespace sampan::sampler
