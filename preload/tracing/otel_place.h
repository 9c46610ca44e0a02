// Where a thread has its `otel_thread_ctx_v1` (OTEP 4947): found in the symbol table of the module that
// defines it when the module is loaded, so that the handler needs no loader.
//
// The variable is thread-local. In static storage, that of the program and of the libraries that were
// loaded with it, it is at the same distance from the thread pointer in every thread; the loader has
// some room there for later libraries, too. Any other library has a block for each thread, which the
// thread's vector of blocks (DTV) leads to.
//
// Freestanding: linked into the target.
#pragma once

#include <link.h>

#include <atomic>
#include <cstdint>

#include "preload/support/machine.h"

namespace sampan::preload {

// A word, so that handlers read it whole. Async-signal-safe.
class OtelPlace {
 public:
  explicit constexpr OtelPlace(uint64_t word = 0) : word_(word) {}
  // `distance` from the thread pointer.
  static constexpr OtelPlace in_static_storage(int64_t distance) {
    return OtelPlace(static_cast<uint64_t>(distance) & kOffset);
  }
  // `module`: its number among those with thread-local storage, from 1. None when it is too large.
  static constexpr OtelPlace in_block(uint64_t module, uint64_t offset) {
    const bool fits = module < (uint64_t{1} << (64 - kOffsetBits)) && offset <= kOffset;
    return OtelPlace(fits ? module << kOffsetBits | offset : 0);
  }

  constexpr uint64_t word() const { return word_; }
  constexpr bool is_none() const { return word_ == 0; }
  constexpr bool is_dynamic() const { return word_ >> kOffsetBits != 0; }

  // The variable's AVMA in the calling thread; 0: the thread has not used it yet.
  uint64_t of_this_thread() const {
    const uint64_t thread = thread_pointer();
    if (!is_dynamic()) {
      constexpr unsigned kUnused = 64 - kOffsetBits;
      return thread + static_cast<uint64_t>(static_cast<int64_t>(word_ << kUnused) >> kUnused);
    }
    // glibc's dtv_t is two words; that before the first one says how many there are.
    const auto* const blocks = *reinterpret_cast<const uint64_t* const*>(thread + kDtvOffset);
    const uint64_t module = word_ >> kOffsetBits;
    if (blocks == nullptr || module > blocks[-2]) return 0;
    const uint64_t block = blocks[2 * module];
    return block == 0 || block == kUnallocated ? 0 : block + (word_ & kOffset);
  }

 private:
  static constexpr unsigned kOffsetBits = 48;
  static constexpr uint64_t kOffset = (uint64_t{1} << kOffsetBits) - 1;
  static constexpr uint64_t kUnallocated = UINT64_MAX;  // TLS_DTV_UNALLOCATED

  uint64_t word_;
};

// Those of the loaded modules: few define the variable. The rest is none.
inline constexpr size_t kMostOtelPlaces = 4;
inline constinit std::atomic<uint64_t> otel_places[kMostOtelPlaces];
inline bool has_otel_places() {
  return otel_places[0].load(std::memory_order_relaxed) != 0;
}

// Ordinary context, one thread at a time: the modules that are loaded now, between begin and end.
// `at_start`: they were loaded with the program.
// `all`: every module is looked at again; otherwise only those that are new.
void begin_otel_search(bool all);
void look_for_otel(const dl_phdr_info& module, bool at_start);
void end_otel_search();

}  // namespace sampan::preload
