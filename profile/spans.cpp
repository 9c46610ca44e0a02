#include "profile/sampled_spans.h"

#include <algorithm>

namespace sampan::profile {
namespace {

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
  const auto change = [&](uint64_t begin_ns, uint32_t innermost) {
    // Times that a hostile recording has out of order do not go back.
    if (!changes_.empty()) begin_ns = std::max(begin_ns, changes_.back().begin_ns);
    changes_.push_back({begin_ns, innermost});
  };
  const auto close_until = [&](uint64_t time_ns) {
    while (!open.empty() && profile_.markers.spans[open.back()].end_ns <= time_ns) {
      const uint64_t end_ns = profile_.markers.spans[open.back()].end_ns;
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
uint32_t SampledSpans::cut(uint64_t begin_ns, uint64_t end_ns) {
  pieces_.clear();
  const auto after = [](uint64_t time_ns, const Change& change) {
    return time_ns < change.begin_ns;
  };
  auto next = std::upper_bound(changes_.begin(), changes_.end(), begin_ns, after);
  uint32_t innermost = next == changes_.begin() ? kNone : next[-1].innermost;
  for (uint64_t from_ns = begin_ns;; ++next) {
    const bool last = next == changes_.end() || next->begin_ns > end_ns;
    const uint64_t to_ns = last ? end_ns : next->begin_ns;
    if (innermost != kNone && to_ns > from_ns) pieces_.push_back({innermost, to_ns - from_ns});
    if (last) return innermost;
    from_ns = to_ns;
    innermost = next->innermost;
  }
}

}  // namespace sampan::profile
