// Spans of Profile::markers: how long they are, and which stands around which.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/profile.h"

namespace sampan::profile {

inline uint64_t duration_ns(const Span& span) {
  return span.end_ns > span.begin_ns ? span.end_ns - span.begin_ns : 0;
}

// By span, the index of its parent; kNone where it has none, or it was lost.
// Following them always ends: a parent began before its child, or with it and has the smaller id.
std::vector<uint32_t> span_parents(const Profile& profile);

}  // namespace sampan::profile
