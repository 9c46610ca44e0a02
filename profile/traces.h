// Requests across services: the samples of each trace, as a tree over the processes that worked for it.
//
// A row is a span id in a process. It is below the row of the span that asked for it: a span of another
// process, which the process was told (TraceContext::parent_id). Spans of a process whose caller is not
// known are at the top: a context does not say which of them are inside which.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "profile/profile.h"
#include "profile/view.h"
#include "profile/weights.h"

namespace sampan::profile {

struct TraceSpan {
  wire::SpanId span_id = {};  // zeros: not known
  uint32_t process = kNone;
  uint32_t parent = kNone;  // into Trace::spans
  uint32_t depth = 0;
  // What the threads had marked around the samples, as an index into Markers::texts: the outermost span
  // with most of the time; kNone: nothing.
  uint32_t name = kNone;
  SessionNs begin_ns = UINT64_MAX, end_ns = 0;  // from the first to the last of its samples
  Weight cpu = {}, waiting = {}, runnable = {};
  // Most time first: functions by their self time on CPU, waits by their time.
  std::vector<std::pair<uint32_t, uint64_t>> functions = {}, waits = {};

  uint64_t total_ns() const { return cpu.ns + waiting.ns + runnable.ns; }
};

struct Trace {
  wire::TraceId trace_id = {};
  Weight cpu = {}, waiting = {}, runnable = {};
  SessionNs begin_ns = UINT64_MAX, end_ns = 0;
  uint32_t processes = 0;
  std::vector<TraceSpan> spans;  // a row before those below it; by their begin

  uint64_t total_ns() const { return cpu.ns + waiting.ns + runnable.ns; }
};

// Those that the view has samples of: most time first, on CPU and waiting.
std::vector<Trace> traces_of(const View& view);

}  // namespace sampan::profile
