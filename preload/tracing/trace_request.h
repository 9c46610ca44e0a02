// A request that asks to be profiled: by the header `tracestate` (W3C Trace Context), with
//   sampan=HMAC-SHA256 of the trace id, in 64 hexadecimal digits
// The message is the trace id as `traceparent` has it, 32 lower-case hexadecimal digits; the key is the
// content of the file that SAMPAN_TRACE_KEY_FILE names, without line ends at its end.
//
// Freestanding: linked into the target.
#pragma once

#include <string_view>

#include "wire/trace_context.h"

namespace sampan::preload {

// Once, in the constructor, when losses can be counted: the program may change its root later. A file that cannot be read, or has less than
// 16 or more than 1,024 bytes, is counted, and no request is accepted. `path` may be null: there is no key.
void read_trace_key(const char* path);

// The rest is async-signal-safe.

// The trace, and the span that asks, as `parent_id`. False when the header makes no sense.
bool parse_traceparent(std::string_view header, wire::TraceContext& request);
// Whether the header proves the knowledge of the key.
bool proves_key(std::string_view tracestate, const wire::TraceId& trace_id);

}  // namespace sampan::preload
