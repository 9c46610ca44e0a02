// Events, counters and labels. Async-signal-safe. Freestanding: linked into the target.
#pragma once

#include <cstdint>

namespace sampan::preload {

// The functions of sampan/markers.h.
void event(const char* name, const char* text, uint64_t time_ns);
void counter_add(const char* name, double value);
void counter_set(const char* name, double value);
void thread_label(const char* text);
void thread_order(int order);
void process_label(const char* text);
void process_order(int order);

}  // namespace sampan::preload
