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

uint64_t address_of(void* where, const char* name) {
  void* const global = dlsym(RTLD_DEFAULT, name);
  return reinterpret_cast<uint64_t>(global != nullptr ? global : dlsym(where, name));
}

// The lazy calls of `get_thread`, which is in `module`. A module whose calls are bound when it is loaded may have
// them, too.
void find_calls(void* where, const link_map& module) {
  const ElfW(Rela)* relocations = nullptr;
  const ElfW(Sym)* symbols = nullptr;
  const char* names = nullptr;
  size_t size = 0;
  for (const ElfW(Dyn)* entry = module.l_ld; entry->d_tag != DT_NULL; ++entry) {
    const ElfW(Addr) value = entry->d_un.d_ptr;
    if (entry->d_tag == DT_JMPREL) relocations = reinterpret_cast<const ElfW(Rela)*>(value);
    if (entry->d_tag == DT_PLTRELSZ) size = value;
    if (entry->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(value);
    if (entry->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(value);
  }
  call_count = 0;
  if (relocations == nullptr || symbols == nullptr || names == nullptr) return;
  for (size_t i = 0; i < size / sizeof *relocations; ++i) {
    const char* name = names + symbols[ELF64_R_SYM(relocations[i].r_info)].st_name;
    const bool is_wanted =
        strcmp(name, "PyThread_tss_get") == 0 || strcmp(name, "pthread_getspecific") == 0;
    if (!is_wanted || call_count == sizeof calls / sizeof *calls) continue;
    calls[call_count++] = {
        reinterpret_cast<const uint64_t*>(module.l_addr + relocations[i].r_offset),
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
  get_thread.store(function, std::memory_order_relaxed);
  Dl_info info;
  void* module = nullptr;
  if (layout == nullptr) {
    count_loss(wire::Loss::kPythonUnknown);
  } else if (start_code_table() &&
             dladdr1(reinterpret_cast<void*>(function), &info, &module, RTLD_DL_LINKMAP) != 0) {
    find_calls(where, *static_cast<link_map*>(module));
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
