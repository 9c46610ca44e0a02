#include "preload/python/interpreter.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>

#include "preload/process/process.h"
#include "preload/python/code_table.h"
#include "preload/python/layout_check.h"

namespace sampan::preload {
namespace {

using GetThread = void* (*)();

constinit std::atomic<const unwind::PythonLayout*> bound;  // what the handler uses
const unwind::PythonLayout* found;
std::atomic<GetThread> get_thread;
EvalLoop eval_loop;  // set before `bound`, as are the next four
uint64_t runtime;    // 0: not known
unwind::PythonRuntimeLayout runtime_layout;
uint64_t float_type;  // the same
uint64_t finalizing;  // of the word in `runtime` that names who ends the interpreter; 0: not known

// Of PY_VERSION_HEX, without the patch level. 3.11 and later have it in a variable; older ones tell
// themselves by what they were the first to have.
uint32_t version_of_interpreter(void* where) {
  const auto* number = static_cast<const unsigned long*>(dlsym(where, "Py_Version"));
  if (number != nullptr) return static_cast<uint32_t>(*number >> 16);
  if (dlsym(where, "Py_NewRef") != nullptr) return 0x030a;
  return dlsym(where, "PyObject_CallNoArgs") != nullptr ? 0x0309 : 0;
}

bool find_eval_loop(void* where) {
  void* function = dlsym(where, "_PyEval_EvalFrameDefault");
  Dl_info info;
  void* found_symbol = nullptr;
  if (function == nullptr || dladdr1(function, &info, &found_symbol, RTLD_DL_SYMENT) == 0 ||
      found_symbol == nullptr) {
    return false;
  }
  const auto* symbol = static_cast<const ElfW(Sym)*>(found_symbol);
  eval_loop.start = reinterpret_cast<uint64_t>(function);
  eval_loop.end = eval_loop.start + symbol->st_size;
  return true;
}

const unwind::PythonLayout* known_layout(void* where) {
  const unwind::PythonLayout* layout = unwind::python_layout(version_of_interpreter(where));
  const void* code_type = dlsym(where, "PyCode_Type");
  const void* const state = dlsym(where, "_PyRuntime");
  if (layout == nullptr || code_type == nullptr || !is_layout_of(*layout, code_type, state)) {
    return nullptr;
  }
  runtime = reinterpret_cast<uint64_t>(state);
  runtime_layout = runtime_layout_of(*layout, state);
  finalizing =
      state != nullptr && runtime_layout.finalizing != 0 ? runtime + runtime_layout.finalizing : 0;
  float_type = reinterpret_cast<uint64_t>(dlsym(where, "PyFloat_Type"));
  const bool has_marks =
      layout->groups != unwind::PythonGroups::kFrameObjects || layout->thread_cframe != 0;
  return find_eval_loop(where) || has_marks ? layout : nullptr;
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
  const unwind::PythonLayout* layout = known_layout(where);
  dlerror();
  if (layout == nullptr) {
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

const EvalLoop& interpreter_eval_loop() {
  return eval_loop;
}

uint64_t interpreter_runtime() {
  return runtime;
}

const unwind::PythonRuntimeLayout& interpreter_runtime_layout() {
  return runtime_layout;
}

uint64_t interpreter_float_type() {
  return float_type;
}

uint64_t interpreter_thread() {
  const GetThread function = get_thread.load(std::memory_order_relaxed);
  if (function == nullptr) return 0;
  const auto thread = reinterpret_cast<uint64_t>(function());
  const uint64_t ends_it =
      finalizing != 0
          ? __atomic_load_n(reinterpret_cast<const uint64_t*>(finalizing), __ATOMIC_ACQUIRE)
          : 0;
  return ends_it == 0 || ends_it == thread ? thread : 0;
}

}  // namespace sampan::preload
