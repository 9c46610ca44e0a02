#include "preload/python/layout_check.h"

#include <cstring>

#include "unwind/python_layout_check.h"

namespace sampan::preload {
namespace {

// The memory of the interpreter itself, by its own pointers.
struct OwnMemory {
  template <typename T>
  bool read(uint64_t avma, T& value) {
    std::memcpy(&value, reinterpret_cast<const void*>(avma), sizeof value);
    return true;
  }
};

}  // namespace

bool is_layout_of(const unwind::PythonLayout& layout, const void* code_type, const void* runtime) {
  OwnMemory memory;
  return unwind::PythonLayoutCheck(memory, layout, reinterpret_cast<uint64_t>(code_type),
                                   reinterpret_cast<uint64_t>(runtime))
      .holds();
}

unwind::PythonRuntimeLayout runtime_layout_of(const unwind::PythonLayout& layout,
                                              const void* runtime) {
  OwnMemory memory;
  unwind::PythonRuntimeLayout found;
  const unwind::PythonLayoutCheck check(memory, layout, 0, reinterpret_cast<uint64_t>(runtime));
  return runtime != nullptr && check.runtime_layout(found) ? found : unwind::PythonRuntimeLayout{};
}

}  // namespace sampan::preload
