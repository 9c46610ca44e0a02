#include "preload/signals/handler_view.h"

#include <ucontext.h>

#include "preload/signals/alternate_stack.h"

// The linker's names for the ends of the section, which follows the rest of the shim's code, and for the shim's begin.
extern "C" __attribute__((visibility("hidden"))) const char __start_sampan_handlers[],
    __stop_sampan_handlers[], __ehdr_start[];

namespace sampan::preload {
namespace {

// In the second word of a saved set; the third has the signals.
constexpr uint64_t kKept = 0x6e61706d6173216b;

bool is_between(uint64_t pc, const char* begin, const char* end) {
  return pc - reinterpret_cast<uint64_t>(begin) < static_cast<uint64_t>(end - begin);
}

uint64_t hidden_of(const SignalState& state) {
  return state.hidden.load(std::memory_order_relaxed);
}

}  // namespace

SAMPAN_HANDLER void call_handler(const ProgramAction& action, uint8_t level, SignalState& state,
                                 int signo, siginfo_t* info, void* ucontext) {
  const uint8_t outer_level = state.level;
  const uint64_t running = state.running;
  state.level = level;
  state.running = running | signal_bit(signo);
  sigset_t& mask = static_cast<ucontext_t*>(ucontext)->uc_sigmask;
  const uint64_t hidden = hidden_of(state), added = state.added;
  const uint64_t added_here = signal_bits(mask) & added, in_kernel = signal_bits(mask) & ~added;
  const bool temporary = state.has_temporary_mask;
  set_signal_bits(mask, in_kernel | (temporary ? state.outer_hidden : hidden));
  state.has_temporary_mask = false;
  state.added = added | action.added;
  state.set_hidden(hidden | (action.blocked & hidden_signals()));

  action.handler(signo, info, ucontext);

  // What the program has blocked unseen stays in the kernel's mask.
  const uint64_t left = signal_bits(mask), taken_out = hidden_signals() & ~in_kernel;
  set_signal_bits(mask, (left & ~taken_out) | added_here);
  state.set_hidden(temporary ? hidden : left & taken_out);
  if (temporary) state.outer_hidden = left & taken_out;
  state.has_temporary_mask = temporary;
  state.added = added;
  state.level = outer_level;
  state.running = running;
  deliver_held(&state);
}

bool is_in_handler(uint64_t pc) {
  return is_between(pc, __start_sampan_handlers, __stop_sampan_handlers);
}

uint32_t without_handlers(uint64_t* frames, uint32_t depth) {
  uint32_t left = 0;
  for (uint32_t i = 0; i < depth; ++i) {
    if (!is_in_handler(frames[i])) {
      frames[left++] = frames[i];
      continue;
    }
    // And what it has called for itself.
    while (left > 0 && is_between(frames[left - 1], __ehdr_start, __stop_sampan_handlers)) --left;
  }
  return left;
}

TemporaryMask::TemporaryMask(SignalState& state, uint64_t hidden) : state_(state) {
  state.outer_hidden = hidden_of(state);
  state.has_temporary_mask = true;
  any_hidden.store(true, std::memory_order_relaxed);
  state.set_hidden(hidden);
}

TemporaryMask::~TemporaryMask() {
  state_.set_hidden(state_.outer_hidden);
  state_.has_temporary_mask = false;
}

void keep_view(const SignalState& state, sigset_t& saved) {
  const uint64_t words[] = {kKept, hidden_of(state)};
  memcpy(reinterpret_cast<char*>(&saved) + sizeof(uint64_t), words, sizeof words);
}

void restore_view(SignalState& state, const sigset_t* saved) {
  state.has_temporary_mask = false;
  state.added = 0;
  state.level = 0;
  state.running = 0;
  if (saved == nullptr) return;
  uint64_t words[3];
  memcpy(words, saved, sizeof words);
  // A handler's frame has the program's own bits (above), and other things behind them.
  state.set_hidden(words[1] == kKept ? words[2] : words[0] & hidden_signals());
}

bool views_differ() {
  return any_hidden.load(std::memory_order_relaxed) || program_has_small_alternate_stacks();
}

}  // namespace sampan::preload
