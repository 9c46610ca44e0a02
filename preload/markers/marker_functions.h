// The functions of sampan/markers.h, their table, and how modules get it.
//
// Freestanding: linked into the target.
#pragma once

#include <link.h>

#include <cstdint>

namespace sampan::preload {

struct MarkerState;

// The functions of the table: async-signal-safe.
void span_begin(const char* name, uint64_t parent_id);
void span_end();
void span_text(const char* text);
uint64_t span_current();
uint64_t span_start(const char* name, uint64_t parent_id);
void span_text_of(uint64_t id, const char* text);
void span_stop(uint64_t id);

void event(const char* name, const char* text, uint64_t time_ns);
void counter_add(const char* name, double value);
void counter_set(const char* name, double value);
void thread_label(const char* text);
void thread_order(int order);
void process_label(const char* text);
void process_order(int order);

// Whether the section is open.
bool begin_section(const char* name, bool calling_thread);
void section_start(const char* name, int calling_thread_only);
void section_stop(const char* name, int calling_thread_only);
// marker_trace.cpp
void trace_context(const uint8_t* trace_id, const uint8_t* span_id, const uint8_t* parent_id);
int trace_section_start(const char* name, const char* traceparent, const char* tracestate);
void pause_by_program();
void resume_by_program();

// Ends the spans that a thread has open: it has ended, or is about to. Async-signal-safe.
void close_spans(MarkerState& markers);
// In a forked child: its parent's sections are not open in it.
void sections_after_fork();
// The name with this index is new: its counter is 0. Async-signal-safe.
void reset_counter(uint32_t name);

// Ordinary context, before any module is connected. `allowed`: SAMPAN_MARKERS is not 0.
void start_markers(bool allowed);
// Gives the table to a module that was built with sampan/markers.h, and leaves other modules alone.
// May be called more than once.
void connect_markers(const dl_phdr_info& module);

}  // namespace sampan::preload
