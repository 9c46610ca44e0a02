// The ids of requests across services, as W3C Trace Context writes them: lower-case hexadecimal digits.
#pragma once

#include <span>
#include <string>

#include "profile/profile.h"

namespace sampan::profile {

std::string hex_text(std::span<const uint8_t> id);

inline std::string trace_text(const TraceContext& context) {
  return hex_text(context.trace_id);
}
// "": the span is not known.
inline std::string span_text(const wire::SpanId& id) {
  return id == wire::SpanId{} ? std::string() : hex_text(id);
}

// By context of the profile, whether it is of the trace with this id, or of the only one whose id begins so.
// Throws Error when there is none, or several.
std::vector<bool> contexts_of_trace(const Profile& profile, const std::string& wanted);

}  // namespace sampan::profile
