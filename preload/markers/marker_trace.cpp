#include <string.h>

#include "preload/markers/marker_functions.h"
#include "preload/markers/marker_names.h"
#include "preload/markers/marker_thread.h"
#include "preload/tracing/trace_request.h"

namespace sampan::preload {
namespace {

template <size_t kSize>
void copy_id(const uint8_t* from, std::array<uint8_t, kSize>& id) {
  if (from != nullptr) memcpy(id.data(), from, kSize);
}

}  // namespace

void trace_context(const uint8_t* trace_id, const uint8_t* span_id, const uint8_t* parent_id) {
  MarkerState* const thread = marker_thread();
  if (thread == nullptr) return;
  wire::TraceContext context{};
  copy_id(trace_id, context.trace_id);
  if (context.is_set()) {
    copy_id(span_id, context.span_id);
    copy_id(parent_id, context.parent_id);
  }
  set_context(thread->samples->trace, context);
}

int trace_section_start(const char* name, const char* traceparent, const char* tracestate) {
  wire::TraceContext request;
  if (traceparent == nullptr || tracestate == nullptr ||
      !parse_traceparent({traceparent, strlen(traceparent)}, request) ||
      !proves_key({tracestate, strlen(tracestate)}, request.trace_id)) {
    return 0;
  }
  MarkerState* const thread = marker_thread();
  if (thread == nullptr || !begin_section(name, true)) return 0;
  begin_request(thread->samples->trace, request, hash_of(MarkerText(name).view()));
  return 1;
}

}  // namespace sampan::preload
