#include "profile/spans.h"

#include <bit>
#include <utility>

namespace sampan::profile {
namespace {

// Spans by process and id. Open addressing: there may be ten million of them.
class SpanIds {
 public:
  explicit SpanIds(const Profile& profile)
      : profile_(profile), slots_(std::bit_ceil(profile.markers.spans.size() * 3 / 2 + 1), kNone) {
    for (uint32_t i = 0; i < profile.markers.spans.size(); ++i) {
      const Span& span = profile.markers.spans[i];
      uint32_t& slot = slots_[place(process_of(span), span.id)];
      if (slot == kNone) slot = i;
    }
  }

  uint32_t find(uint32_t process, uint64_t id) const { return slots_[place(process, id)]; }

  uint32_t process_of(const Span& span) const { return profile_.threads[span.thread].process; }

 private:
  size_t place(uint32_t process, uint64_t id) const {
    const uint64_t mixed = (id ^ uint64_t{process} << 48) * 0x9e3779b97f4a7c15;
    size_t slot = mixed >> 20;
    for (;; ++slot) {
      slot &= slots_.size() - 1;
      if (slots_[slot] == kNone) return slot;
      const Span& other = profile_.markers.spans[slots_[slot]];
      if (other.id == id && process_of(other) == process) return slot;
    }
  }

  const Profile& profile_;
  std::vector<uint32_t> slots_;
};

}  // namespace

std::vector<uint32_t> span_parents(const Profile& profile) {
  const std::vector<Span>& spans = profile.markers.spans;
  const SpanIds ids(profile);
  std::vector<uint32_t> parents(spans.size(), kNone);
  for (size_t i = 0; i < spans.size(); ++i) {
    const Span& span = spans[i];
    if (span.parent_id == 0) continue;
    const uint32_t parent = ids.find(ids.process_of(span), span.parent_id);
    if (parent == kNone) continue;
    const Span& candidate = spans[parent];
    if (std::pair(candidate.begin_ns, candidate.id) < std::pair(span.begin_ns, span.id)) {
      parents[i] = parent;
    }
  }
  return parents;
}

}  // namespace sampan::profile
