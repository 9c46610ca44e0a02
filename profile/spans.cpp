#include "profile/spans.h"

#include <algorithm>
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
    size_t slot = mix_bits(id ^ uint64_t{process} << 48);
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

// Indexes of rows by thread; `thread_of` says kNone for rows that are left out.
template <typename Row, typename ThreadOf>
void group_by_thread(const std::vector<Row>& rows, size_t threads, const ThreadOf& thread_of,
                     std::vector<uint32_t>* indexes, std::vector<size_t>* first) {
  first->assign(threads + 1, 0);
  for (const Row& row : rows) {
    if (thread_of(row) != kNone) ++(*first)[thread_of(row) + 1];
  }
  for (size_t i = 0; i < threads; ++i) (*first)[i + 1] += (*first)[i];
  indexes->resize(first->back());
  std::vector<size_t> next(*first);
  for (uint32_t i = 0; i < rows.size(); ++i) {
    if (thread_of(rows[i]) != kNone) (*indexes)[next[thread_of(rows[i])]++] = i;
  }
}

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

SampledSpans::SampledSpans(const Profile& profile)
    : profile_(profile), parents_(span_parents(profile)) {
  const size_t threads = profile.threads.size();
  group_by_thread(
      profile.samples, threads, [](const Sample& sample) { return sample.thread; }, &samples_,
      &first_sample_);
  group_by_thread(
      profile.markers.spans, threads,
      [](const Span& span) { return span.kind == SpanKind::kNested ? span.thread : kNone; },
      &nested_, &first_nested_);
}

bool SampledSpans::open_thread(uint32_t thread) {
  changes_.clear();
  std::vector<uint32_t> open;  // outermost first
  const auto change = [&](SessionNs begin_ns, uint32_t innermost) {
    // A crafted recording may have times out of order; they do not go back here.
    if (!changes_.empty()) begin_ns = std::max(begin_ns, changes_.back().begin_ns);
    changes_.push_back({begin_ns, innermost});
  };
  const auto close_until = [&](SessionNs time_ns) {
    while (!open.empty() && profile_.markers.spans[open.back()].end_ns <= time_ns) {
      const SessionNs end_ns = profile_.markers.spans[open.back()].end_ns;
      open.pop_back();
      change(end_ns, open.empty() ? kNone : open.back());
    }
  };
  for (size_t i = first_nested_[thread]; i < first_nested_[thread + 1]; ++i) {
    const Span& span = profile_.markers.spans[nested_[i]];
    close_until(span.begin_ns);
    open.push_back(nested_[i]);
    change(span.begin_ns, nested_[i]);
  }
  close_until(UINT64_MAX);
  return !changes_.empty();
}

// Fills pieces_; returns the innermost span at the end.
uint32_t SampledSpans::cut(SessionNs begin_ns, SessionNs end_ns) {
  pieces_.clear();
  const auto after = [](SessionNs time_ns, const Change& change) {
    return time_ns < change.begin_ns;
  };
  auto next = std::upper_bound(changes_.begin(), changes_.end(), begin_ns, after);
  uint32_t innermost = next == changes_.begin() ? kNone : next[-1].innermost;
  for (SessionNs from_ns = begin_ns;; ++next) {
    const bool last = next == changes_.end() || next->begin_ns > end_ns;
    const SessionNs to_ns = last ? end_ns : next->begin_ns;
    if (innermost != kNone && to_ns > from_ns) pieces_.push_back({innermost, to_ns - from_ns});
    if (last) return innermost;
    from_ns = to_ns;
    innermost = next->innermost;
  }
}

}  // namespace sampan::profile
