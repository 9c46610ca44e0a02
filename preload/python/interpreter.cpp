#include "preload/python/interpreter.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include <algorithm>
#include <atomic>
#include <span>

#include "preload/process/process.h"
#include "preload/python/code_table.h"
#include "preload/python/layout_check.h"
#include "preload/support/loaded_symbols.h"

namespace sampan::preload {
namespace {

using GetThread = void* (*)();

// A call by way of the procedure linkage table.
struct LazyCall {
  const uint64_t* slot;  // what is called: the loader, until it has bound the function
  uint64_t function;
};

constinit std::atomic<const unwind::PythonLayout*> bound;  // what the handler uses
constinit std::atomic<const unwind::PythonLayout*> found;  // becomes `bound` when the calls are
std::atomic<GetThread> get_thread;
LazyCall calls[2];  // that `get_thread` may make; set before `found`, as is the rest
size_t call_count;
EvalLoop eval_loop;
uint64_t runtime;  // 0: not known
unwind::PythonRuntimeLayout runtime_layout;
uint64_t float_type;  // the same
uint64_t finalizing;  // of the word in `runtime` that names who ends the interpreter; 0: not known

// A variable of the interpreter may have been copied into the program.
uint64_t address_of(const SymbolTable& where, const char* name) {
  void* const global = global_symbol(name);
  return global != nullptr ? reinterpret_cast<uint64_t>(global) : where.avma_of(name);
}

const void* pointer_to(const SymbolTable& where, const char* name) {
  return reinterpret_cast<const void*>(address_of(where, name));
}

// The lazy calls of `get_thread`, which is in this module. A module whose calls are bound when it is loaded may have
// them, too.
void find_calls(const SymbolTable& where) {
  call_count = 0;
  if (!where.has_symbols()) return;
  for (const ElfW(Rela) & relocation : where.plt_relocations()) {
    const char* const name = where.name_of(where.symbol(ELF64_R_SYM(relocation.r_info)));
    const bool is_wanted =
        strcmp(name, "PyThread_tss_get") == 0 || strcmp(name, "pthread_getspecific") == 0;
    if (!is_wanted || call_count == sizeof calls / sizeof *calls) continue;
    calls[call_count++] = {reinterpret_cast<const uint64_t*>(where.bias() + relocation.r_offset),
                           address_of(where, name)};
  }
}

bool calls_are_bound() {
  return std::ranges::all_of(std::span(calls, call_count), [](const LazyCall& call) {
    return __atomic_load_n(call.slot, __ATOMIC_RELAXED) == call.function;
  });
}

// As in PY_VERSION_HEX, without the patch level. 3.11 and later have it in a variable; older ones tell
// themselves by what they were the first to have.
uint32_t version_of_interpreter(const SymbolTable& where) {
  const auto* number = static_cast<const unsigned long*>(pointer_to(where, "Py_Version"));
  if (number != nullptr) return static_cast<uint32_t>(*number >> 16);
  if (where.find("Py_NewRef") != nullptr) return 0x030a;
  return where.find("PyObject_CallNoArgs") != nullptr ? 0x0309 : 0;
}

bool find_eval_loop(const SymbolTable& where) {
  const ElfW(Sym)* const symbol = where.find("_PyEval_EvalFrameDefault");
  if (symbol == nullptr) return false;
  eval_loop.start = where.avma(*symbol);
  eval_loop.end = eval_loop.start + symbol->st_size;
  return true;
}

const unwind::PythonLayout* known_layout(const SymbolTable& where) {
  const unwind::PythonLayout* layout = unwind::python_layout(version_of_interpreter(where));
  const void* code_type = pointer_to(where, "PyCode_Type");
  const void* const state = pointer_to(where, "_PyRuntime");
  if (layout == nullptr || code_type == nullptr || !is_layout_of(*layout, code_type, state)) {
    return nullptr;
  }
  runtime = reinterpret_cast<uint64_t>(state);
  runtime_layout = runtime_layout_of(*layout, state);
  finalizing =
      state != nullptr && runtime_layout.finalizing != 0 ? runtime + runtime_layout.finalizing : 0;
  float_type = address_of(where, "PyFloat_Type");
  const bool has_marks =
      layout->groups != unwind::PythonGroups::kFrameObjects || layout->thread_cframe != 0;
  return find_eval_loop(where) || has_marks ? layout : nullptr;
}

}  // namespace

void find_interpreter(const SymbolTable& module) {
  if (!this_process.python || get_thread.load(std::memory_order_relaxed) != nullptr) return;
  auto* function = reinterpret_cast<GetThread>(module.avma_of("PyGILState_GetThisThreadState"));
  if (function == nullptr) return;
  const unwind::PythonLayout* layout = known_layout(module);
  get_thread.store(function, std::memory_order_relaxed);
  if (layout == nullptr) {
    count_loss(wire::Loss::kPythonUnknown);
  } else if (start_code_table()) {
    find_calls(module);
    found.store(layout, std::memory_order_release);
  }
}

void forget_unloaded_interpreter() {
  const GetThread function = get_thread.load(std::memory_order_relaxed);
  Dl_info info;
  if (function == nullptr || dladdr(reinterpret_cast<void*>(function), &info) != 0) return;
  found.store(nullptr, std::memory_order_relaxed);
  bound.store(nullptr, std::memory_order_relaxed);
  get_thread.store(nullptr, std::memory_order_relaxed);
}

const unwind::PythonLayout* interpreter_layout() {
  const unwind::PythonLayout* layout = bound.load(std::memory_order_acquire);
  if (layout != nullptr) return layout;
  layout = found.load(std::memory_order_acquire);
  if (layout == nullptr || !calls_are_bound()) return nullptr;
  bound.store(layout, std::memory_order_release);
  return layout;
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
