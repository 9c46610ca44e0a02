#include "profile/span_time.h"

#include <algorithm>
#include <cmath>

namespace sampan::profile {
namespace {

// Adds up one sample after the other, by row.
class SpanTimes {
 public:
  SpanTimes(const SpanTable& table, const std::vector<uint32_t>& parents)
      : table_(table), parents_(parents), times_(table.rows.size()), inside_(table.rows.size()) {}

  void add(const Sample& sample, uint32_t innermost, std::span<const SpanPiece> pieces,
           uint64_t interval_ns, SpanSum SpanTime::*kind) {
    rows_.clear();
    for (const SpanPiece& piece : pieces) {
      each_row_around(piece.innermost, [&](uint32_t row) {
        if (inside_[row] == 0) rows_.push_back(row);
        inside_[row] += piece.ns;
      });
      if (sample.wait != kNone) add_self(piece.innermost, piece.ns, kind);
    }
    for (const uint32_t row : rows_) {
      SpanSum& sum = times_[row].*kind;
      sum.variance += variance(sample.weight_ns, inside_[row], interval_ns);
      if (sample.wait != kNone) sum.total_ns += inside_[row];
      inside_[row] = 0;
    }
    if (sample.wait == kNone) add_self(innermost, sample.weight_ns, kind);
    each_row_around(innermost, [&](uint32_t row) {
      if (sample.wait == kNone) (times_[row].*kind).total_ns += sample.weight_ns;
      ++times_[row].samples;
    });
  }

  std::vector<SpanTime> take() { return std::move(times_); }

 private:
  static double variance(uint64_t weight_ns, uint64_t inside_ns, uint64_t interval_ns) {
    const auto weight = static_cast<double>(weight_ns);
    const auto inside = static_cast<double>(inside_ns);
    const double outside = static_cast<double>(interval_ns) - inside;
    if (weight <= 0) return 0;
    const double most = std::clamp(inside / weight, 0., 1.);
    const double least = std::clamp(1 - outside / weight, 0., most);
    const double part = std::clamp(0.5, least, most);
    return part * (1 - part) * weight * weight;
  }

  void add_self(uint32_t span, uint64_t ns, SpanSum SpanTime::*kind) {
    if (span == kNone || table_.row_of[span] == kNone) return;
    (times_[table_.row_of[span]].*kind).self_ns += ns;
  }

  // Each once, though several spans around may be of one row.
  template <typename Visit>
  void each_row_around(uint32_t span, const Visit& visit) {
    seen_.clear();
    for (; span != kNone; span = parents_[span]) {
      const uint32_t row = table_.row_of[span];
      if (row == kNone || std::find(seen_.begin(), seen_.end(), row) != seen_.end()) continue;
      seen_.push_back(row);
      visit(row);
    }
  }

  const SpanTable& table_;
  const std::vector<uint32_t>& parents_;
  std::vector<SpanTime> times_;
  std::vector<uint64_t> inside_;  // by row, of the sample that is being added: 0 in between
  std::vector<uint32_t> rows_;    // of which inside_ is not 0
  std::vector<uint32_t> seen_;
};

}  // namespace

double SpanSum::error_ns() const {
  return 2 * std::sqrt(variance);
}

std::vector<SpanTime> span_times(const View& view, const SpanTable& table, SampledSpans& sampled) {
  const Profile& profile = *view.profile;
  SpanTimes times(table, sampled.parents());
  sampled.for_each(view.state, [&](const Sample& sample, uint32_t innermost,
                                   std::span<const SpanPiece> pieces, uint64_t interval_ns) {
    times.add(sample, innermost, pieces, interval_ns,
              sample.wait == kNone               ? &SpanTime::cpu
              : profile.is_runnable(sample.wait) ? &SpanTime::runnable
                                                 : &SpanTime::waiting);
  });
  return times.take();
}

}  // namespace sampan::profile
