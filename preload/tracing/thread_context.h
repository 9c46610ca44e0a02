// The request that a thread works for (wire/shown_context.h): what the program has set, and what the
// handler reads when it takes a sample.
//
// Async-signal-safe. Freestanding: linked into the target.
#pragma once

#include <atomic>
#include <cstdint>

#include "unwind/walker.h"
#include "wire/shown_context.h"

namespace sampan::preload {

// The context of one thread.
struct TraceState {
  wire::ShownContext* shown;
  bool may_read;  // its thread-local storage is glibc's

  // Set by the program.
  std::atomic<bool> is_changing;
  uint32_t changes;
  wire::TraceContext own;  // of the thread, with the parent of `request` if it is of the same trace
  wire::TraceContext request;  // for which a section is open
  uint64_t request_section;    // its hash

  // By the handler.
  wire::TraceContext current;   // of the sample that is being taken
  wire::TraceContext recorded;  // that a sample had last
  uint32_t since_new;           // samples since then
};

// At start-up, in ordinary context: the heap, whose pages need not be asked for while it only grows.
void find_heap();
// For a thread that is about to get a slot, and in a forked child: it works for no request.
void prepare_trace(TraceState& state, wire::ShownContext& shown);

// By the program, on its own thread. Ids of zeros: no context.
void set_context(TraceState& state, const wire::TraceContext& context);
// The section with this hash was begun for a request of another service, and has ended.
void begin_request(TraceState& state, const wire::TraceContext& request, uint64_t section);
void end_request(TraceState& state, uint64_t section);

// In the handler: sets `current`. `unloading`: modules come and go, and their storage with them.
void read_context(TraceState& state, const unwind::StackBounds& stack, bool unloading);

}  // namespace sampan::preload
