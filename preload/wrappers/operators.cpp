// operator new and delete of every form. Those of a C++ library call malloc, and so they are only passed on. Allocators
// (tcmalloc, jemalloc, mimalloc) have operators of their own, which do what their malloc and free do: these are called
// in their place. So no allocation is counted twice.
//
// A program may have no C++ library when it begins, and load one later with an extension of Python's. The loader binds
// that library's users to these functions, and its own operators are not known here. They would be malloc and
// free as well, but for what happens when there is no memory: only then, the library's operator is looked for.
#include "preload/wrappers/operators.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "preload/support/interpose.h"
#include "preload/wrappers/heap_calls.h"

namespace sampan::preload {
namespace {

// One signature for all forms: alignments, sizes and references of std::nothrow are passed in registers, and a register
// that a form does not use is passed on as it is.
using New = void*(size_t, uintptr_t, uintptr_t);
using Delete = void(void*, uintptr_t, uintptr_t);

// What each form is passed on to; null: to none, or that is not known yet.
template <FunctionName name>
constinit std::atomic<void*> original = nullptr;
constinit std::atomic<bool> looked_up = false;

// The forms: a name for ours, the mangled one, the alignment. Mangled names are the same on all 64-bit machines.
#define SAMPAN_FORMS_OF_NEW(FORM)                                             \
  FORM(new_one, "_Znwm", 0)                                                   \
  FORM(new_array, "_Znam", 0)                                                 \
  FORM(new_one_nothrow, "_ZnwmRKSt9nothrow_t", 0)                             \
  FORM(new_array_nothrow, "_ZnamRKSt9nothrow_t", 0)                           \
  FORM(new_one_aligned, "_ZnwmSt11align_val_t", second)                       \
  FORM(new_array_aligned, "_ZnamSt11align_val_t", second)                     \
  FORM(new_one_aligned_nothrow, "_ZnwmSt11align_val_tRKSt9nothrow_t", second) \
  FORM(new_array_aligned_nothrow, "_ZnamSt11align_val_tRKSt9nothrow_t", second)
#define SAMPAN_FORMS_OF_DELETE(FORM)                                        \
  FORM(delete_one, "_ZdlPv")                                                \
  FORM(delete_array, "_ZdaPv")                                              \
  FORM(delete_one_nothrow, "_ZdlPvRKSt9nothrow_t")                          \
  FORM(delete_array_nothrow, "_ZdaPvRKSt9nothrow_t")                        \
  FORM(delete_one_sized, "_ZdlPvm")                                         \
  FORM(delete_array_sized, "_ZdaPvm")                                       \
  FORM(delete_one_aligned, "_ZdlPvSt11align_val_t")                         \
  FORM(delete_array_aligned, "_ZdaPvSt11align_val_t")                       \
  FORM(delete_one_aligned_nothrow, "_ZdlPvSt11align_val_tRKSt9nothrow_t")   \
  FORM(delete_array_aligned_nothrow, "_ZdaPvSt11align_val_tRKSt9nothrow_t") \
  FORM(delete_one_sized_aligned, "_ZdlPvmSt11align_val_t")                  \
  FORM(delete_array_sized_aligned, "_ZdaPvmSt11align_val_t")

template <FunctionName name>
void look_up() {
  original<name>.store(next_symbol(name.text), std::memory_order_relaxed);
}

// All at once and before the program begins, by the first call of an operator or in the constructor: a look-up in a
// signal handler could meet the loader's lock.
[[gnu::cold, gnu::noinline]] void look_up_all() {
  const link_map* const next_new = next_module_with("_Znwm");
  if (next_new != nullptr && next_new != next_module_with("malloc")) {
#define SAMPAN_LOOK_UP(function, name, ...) look_up<name>();
    SAMPAN_FORMS_OF_NEW(SAMPAN_LOOK_UP)
    SAMPAN_FORMS_OF_DELETE(SAMPAN_LOOK_UP)
  }
  looked_up.store(true, std::memory_order_release);
}

// The operator that the caller would have without us, in a library that has come later; null: none is found.
[[gnu::cold, gnu::noinline]] void* operator_of_library(const char* name, const void* caller) {
  if (void* found = next_symbol(name)) return found;
  Dl_info info;
  void* module = nullptr;
  if (dladdr1(caller, &info, &module, RTLD_DL_LINKMAP) != 0) {
    if (void* found = symbol_in(*static_cast<link_map*>(module), name)) return found;
  }
  for (const char* library : {"libstdc++.so.6", "libc++.so.1", "libc++abi.so.1"}) {
    const link_map* const loaded = module_named(library);
    void* const found = loaded != nullptr ? symbol_in(*loaded, name) : nullptr;
    if (found != nullptr) return found;
  }
  return nullptr;
}

// `alignment`: 0: the usual one.
[[gnu::noinline]] void* make_by_malloc(const std::atomic<void*>& known, const char* name,
                                       const void* caller, size_t alignment, size_t size,
                                       uintptr_t second, uintptr_t third) {
  if (!looked_up.load(std::memory_order_acquire)) {
    look_up_all();
    if (void* const found = known.load(std::memory_order_relaxed)) {
      return reinterpret_cast<New*>(found)(size, second, third);
    }
  }
  void* const block =
      alignment == 0 ? next_allocator.malloc(size) : next_allocator.memalign(alignment, size);
  if (block != nullptr) [[likely]]
    return counted(block, size, caller);
  auto* const other = reinterpret_cast<New*>(operator_of_library(name, caller));
  return other != nullptr ? other(size, second, third) : nullptr;
}

[[gnu::noinline]] void destroy_by_free(const std::atomic<void*>& known, const void* caller,
                                       void* block, uintptr_t second, uintptr_t third) {
  if (!looked_up.load(std::memory_order_acquire)) {
    look_up_all();
    if (void* const found = known.load(std::memory_order_relaxed)) {
      return reinterpret_cast<Delete*>(found)(block, second, third);
    }
  }
  release(block, caller);
}

template <FunctionName name>
[[gnu::always_inline]] inline void* make(const void* caller, size_t alignment, size_t size,
                                         uintptr_t second, uintptr_t third) {
  if (void* const found = original<name>.load(std::memory_order_relaxed)) [[likely]] {
    return reinterpret_cast<New*>(found)(size, second, third);
  }
  return make_by_malloc(original<name>, name.text, caller, alignment, size, second, third);
}

template <FunctionName name>
[[gnu::always_inline]] inline void destroy(const void* caller, void* block, uintptr_t second,
                                           uintptr_t third) {
  if (void* const found = original<name>.load(std::memory_order_relaxed)) [[likely]] {
    return reinterpret_cast<Delete*>(found)(block, second, third);
  }
  destroy_by_free(original<name>, caller, block, second, third);
}

}  // namespace

void start_operators() {
  if (!looked_up.load(std::memory_order_acquire)) look_up_all();
}

}  // namespace sampan::preload

#define SAMPAN_EXPORT_NEW(function, name, alignment)                                      \
  SAMPAN_EXPORT void* function(size_t size, uintptr_t second, uintptr_t third) asm(name); \
  void* function(size_t size, [[maybe_unused]] uintptr_t second, uintptr_t third) {       \
    return sampan::preload::make<name>(SAMPAN_CALLER, alignment, size, second, third);    \
  }
#define SAMPAN_EXPORT_DELETE(function, name)                                                      \
  SAMPAN_EXPORT void function(void* block, uintptr_t second, uintptr_t third) noexcept asm(name); \
  void function(void* block, uintptr_t second, uintptr_t third) noexcept {                        \
    sampan::preload::destroy<name>(SAMPAN_CALLER, block, second, third);                          \
  }
SAMPAN_FORMS_OF_NEW(SAMPAN_EXPORT_NEW)
SAMPAN_FORMS_OF_DELETE(SAMPAN_EXPORT_DELETE)
