// The oracle of the walker's tests: libunwind, from the same registers at the same stop.
//
// Test only. libunwind takes locks and may allocate. A signal handler may call this only when the
// interrupted code was not in the loader.
#pragma once

#define UNW_LOCAL_ONLY
#include <libunwind.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "unwind/registers.h"
#include "unwind/walker.h"

namespace sampan::unwind {

struct OracleResult {
  size_t depth;
  int last_step;  // 0: the end of the stack was reached; negative: libunwind gave up
};

// libunwind's stack as lookup AVMAs, leaf first.
inline OracleResult oracle_walk(const ucontext_t& context, std::span<uint64_t> frames) {
  unw_context_t copy;
  std::memcpy(&copy, &context, sizeof(copy) < sizeof(context) ? sizeof(copy) : sizeof(context));
  unw_cursor_t cursor;
  OracleResult result{0, -1};
  [[maybe_unused]] bool was_signal = false;
  if (unw_init_local2(&cursor, &copy, UNW_INIT_SIGNAL_FRAME) != 0) return result;
  while (result.depth < frames.size()) {
    unw_word_t pc = 0;
    if (unw_get_reg(&cursor, UNW_REG_IP, &pc) != 0 || pc == 0) {
      result.last_step = pc == 0 ? 0 : -1;
      return result;
    }
    const bool is_signal = result.depth != 0 && unw_is_signal_frame(&cursor) > 0;
#if defined(__aarch64__)
    // Is it a trampoline, or was the frame before?
    const bool interrupted = result.depth == 0 || is_signal || was_signal;
    was_signal = is_signal;
#else
    // Was the frame before a trampoline?
    const bool interrupted = result.depth == 0 || is_signal;
#endif
    frames[result.depth++] = interrupted ? pc : pc - 1;
    result.last_step = unw_step(&cursor);
    if (result.last_step <= 0) return result;
  }
  result.last_step = 1;
  return result;
}

}  // namespace sampan::unwind
