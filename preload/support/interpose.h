// How the shim interposes functions of the C library: it defines them under their own names
// (SAMPAN_EXPORT) and reaches the originals by `next`, which asks the loader once per function.
//
// The first time, `next` searches the modules that are loaded, without calling or locking anything
// (loaded_symbols.h): a program may call its interposed functions before its own are ready. Originals that
// the program's signal handlers may need are looked up at start-up all the same, or replaced by a raw
// system call: the list of modules may be changing. Before start-up, and in a process that is not profiled,
// every interposer only forwards.
//
// Freestanding: linked into the target.
#pragma once

#include <atomic>
#include <cstddef>

#include "preload/support/loaded_symbols.h"

#define SAMPAN_EXPORT extern "C" __attribute__((visibility("default")))

namespace sampan::preload {

template <size_t N>
struct FunctionName {
  char text[N];
  constexpr FunctionName(const char (&name)[N]) {
    for (size_t i = 0; i < N; ++i) text[i] = name[i];
  }
};

// The next definition of a function after the shim's own: next<int(int), "close">()(fd). Null when
// there is none (a C library without it).
template <typename Function, FunctionName name>
Function* next() {
  static constinit std::atomic<Function*> original = nullptr;
  Function* found = original.load(std::memory_order_relaxed);
  if (found == nullptr) {
    found = reinterpret_cast<Function*>(next_symbol(name.text));
    original.store(found, std::memory_order_relaxed);
  }
  return found;
}

// The same for one version of a function of which the C library has several.
template <typename Function, FunctionName name, FunctionName version>
Function* next_version() {
  static constinit std::atomic<Function*> original = nullptr;
  Function* found = original.load(std::memory_order_relaxed);
  if (found == nullptr) {
    found = reinterpret_cast<Function*>(next_symbol(name.text, version.text));
    original.store(found, std::memory_order_relaxed);
  }
  return found;
}

// The same for functions that a header declares.
template <FunctionName name, typename Function>
Function* next_like(Function*) {
  return next<Function, name>();
}
template <FunctionName name, FunctionName version, typename Function>
Function* next_version_like(Function*) {
  return next_version<Function, name, version>();
}

}  // namespace sampan::preload

// The original of a function that a header declares: SAMPAN_NEXT(close)(fd).
#define SAMPAN_NEXT(function) (::sampan::preload::next_like<#function>(&::function))
