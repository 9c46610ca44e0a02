#include "preload/python/interpreter.h"

#include <dlfcn.h>
#include <string.h>

#include <atomic>

#include "preload/process/process.h"
#include "preload/python/code_table.h"

namespace sampan::preload {
namespace {

using GetThread = void* (*)();

constinit std::atomic<const unwind::PythonLayout*> bound;  // what the handler uses
const unwind::PythonLayout* found;
std::atomic<GetThread> get_thread;

// An entry of PyTypeObject::tp_members (Include/structmember.h): the interpreter's own statement of
// where a code object has what.
struct Member {
  const char* name;
  int type;
  int64_t offset;
  int flags;
  const char* text;
};
constexpr size_t kTypeMembers = 240;  // of tp_members in PyTypeObject
constexpr unsigned kMostMembers = 64;

bool agrees(const unwind::PythonLayout& layout, const void* code_type) {
  const Member* member = nullptr;
  memcpy(static_cast<void*>(&member), static_cast<const char*>(code_type) + kTypeMembers,
         sizeof(void*));
  const struct {
    const char* name;
    int64_t offset;
  } expected[] = {{"co_firstlineno", layout.code_first_line},
                  {"co_filename", layout.code_file},
                  {"co_name", layout.code_name},
                  {"co_qualname", layout.code_qualified_name}};
  unsigned seen = 0;
  for (unsigned i = 0; member != nullptr && member->name != nullptr && i < kMostMembers; ++i) {
    for (const auto& field : expected) {
      if (strcmp(member->name, field.name) != 0) continue;
      if (member->offset != field.offset) return false;
      ++seen;
    }
    ++member;
  }
  return seen == sizeof expected / sizeof expected[0];
}

}  // namespace

void find_interpreter(void* handle) {
  if (!this_process.python || get_thread.load(std::memory_order_relaxed) != nullptr) return;
  void* where = handle != nullptr ? handle : RTLD_DEFAULT;
  auto* function = reinterpret_cast<GetThread>(dlsym(where, "PyGILState_GetThisThreadState"));
  if (function == nullptr) {
    dlerror();  // the program's next dlerror() is to find nothing of ours
    return;
  }
  // 3.11 and later say their version; what is older has no layout here.
  const auto* version = static_cast<const unsigned long*>(dlsym(where, "Py_Version"));
  const void* code_type = dlsym(where, "PyCode_Type");
  dlerror();
  const unwind::PythonLayout* layout =
      version != nullptr ? unwind::python_layout(static_cast<uint32_t>(*version >> 16)) : nullptr;
  if (layout == nullptr || code_type == nullptr || !agrees(*layout, code_type)) {
    count_loss(wire::Loss::kPythonUnknown);
  } else if (start_code_table()) {
    found = layout;
  }
  get_thread.store(function, std::memory_order_release);
}

void forget_unloaded_interpreter() {
  const GetThread function = get_thread.load(std::memory_order_relaxed);
  Dl_info info;
  if (function == nullptr || dladdr(reinterpret_cast<void*>(function), &info) != 0) return;
  bound.store(nullptr, std::memory_order_relaxed);
  get_thread.store(nullptr, std::memory_order_relaxed);
  found = nullptr;
}

void bind_interpreter() {
  const GetThread function = get_thread.load(std::memory_order_acquire);
  if (function == nullptr || found == nullptr || interpreter_layout() != nullptr) return;
  if (function() != nullptr) bound.store(found, std::memory_order_release);
}

const unwind::PythonLayout* interpreter_layout() {
  return bound.load(std::memory_order_acquire);
}

uint64_t interpreter_thread() {
  return reinterpret_cast<uint64_t>(get_thread.load(std::memory_order_relaxed)());
}

}  // namespace sampan::preload
