// Spans. Async-signal-safe. Freestanding: linked into the target.
#pragma once

#include "preload/threads.h"

namespace sampan::preload {

// The functions of sampan/markers.h.
void span_begin(const char* name, uint64_t parent_id);
void span_end();
void span_text(const char* text);
uint64_t span_current();
uint64_t span_start(const char* name, uint64_t parent_id);
void span_stop(uint64_t id);

// Ends what the thread has open: it is gone, or about to.
void close_spans(ThreadState& thread);

}  // namespace sampan::preload
