#include "profile/span_table.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "profile/markers.h"
#include "profile/spans.h"

namespace sampan::profile {
namespace {

// Computes counts, sums and percentiles; rows and row_of are complete.
void measure(const std::vector<Span>& spans, SpanTable* table) {
  std::vector<SpanRow>& rows = table->rows;
  for (size_t i = 0; i < spans.size(); ++i) {
    if (table->row_of[i] == kNone) continue;
    SpanRow& row = rows[table->row_of[i]];
    const uint64_t ns = duration_ns(spans[i]);
    row.min_ns = row.count == 0 ? ns : std::min(row.min_ns, ns);
    row.max_ns = std::max(row.max_ns, ns);
    row.total_ns += ns;
    ++row.count;
    ++row.closed[static_cast<size_t>(spans[i].closed)];
    row.across |= spans[i].kind == SpanKind::kAcross;
  }
  std::vector<size_t> next(rows.size() + 1);
  for (size_t i = 0; i < rows.size(); ++i) next[i + 1] = next[i] + rows[i].count;
  std::vector<uint64_t> durations(next.back());
  for (size_t i = 0; i < spans.size(); ++i) {
    if (table->row_of[i] != kNone) durations[next[table->row_of[i]]++] = duration_ns(spans[i]);
  }
  auto begin = durations.begin();
  for (size_t i = 0; i < rows.size(); ++i) {
    SpanRow& row = rows[i];
    const auto end = durations.begin() + static_cast<ptrdiff_t>(next[i]);
    if (begin == end) continue;
    auto from = begin;  // what is before is not larger
    const auto percentile = [&](uint64_t percent) {
      const auto rank = begin + static_cast<ptrdiff_t>((row.count * percent + 99) / 100 - 1);
      std::nth_element(from, rank, end);
      from = rank;
      return *rank;
    };
    row.p50_ns = percentile(50);
    row.p95_ns = percentile(95);
    row.p99_ns = percentile(99);
    begin = end;
  }
}

// Puts the rows into this order.
void reorder(const std::vector<uint32_t>& order, SpanTable* table) {
  std::vector<uint32_t> place(order.size());
  std::vector<SpanRow> rows;
  rows.reserve(order.size());
  for (uint32_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    rows.push_back(table->rows[order[i]]);
  }
  for (SpanRow& row : rows) {
    if (row.parent != kNone) row.parent = place[row.parent];
  }
  for (uint32_t& row : table->row_of) {
    if (row != kNone) row = place[row];
  }
  table->rows = std::move(rows);
}

std::vector<uint32_t> by_total(const Profile& profile, const std::vector<SpanRow>& rows) {
  std::vector<uint32_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    if (rows[a].total_ns != rows[b].total_ns) return rows[a].total_ns > rows[b].total_ns;
    const auto& texts = profile.markers.texts;
    const int names = texts[rows[a].name].compare(texts[rows[b].name]);
    return names != 0 ? names < 0 : a < b;
  });
  return order;
}

// Rows of a tree, each after its parent and before its parent's next child.
std::vector<uint32_t> preorder(const Profile& profile, const std::vector<SpanRow>& rows) {
  std::vector<std::vector<uint32_t>> children(rows.size() + 1);  // the last: of the top
  for (const uint32_t row : by_total(profile, rows)) {
    children[rows[row].parent == kNone ? rows.size() : rows[row].parent].push_back(row);
  }
  std::vector<uint32_t> order;
  std::vector<uint32_t> pending(children.back().rbegin(), children.back().rend());
  while (!pending.empty()) {
    const uint32_t row = pending.back();
    pending.pop_back();
    order.push_back(row);
    pending.insert(pending.end(), children[row].rbegin(), children[row].rend());
  }
  return order;
}

// Gives spans the rows of a tree.
class TreeRows {
 public:
  TreeRows(const View& view, const std::vector<uint32_t>& parents)
      : spans_(view.profile->markers.spans), of_view_(spans_.size()), parents_(parents) {
    for (const uint32_t span : markers_of(view).spans) of_view_[span] = true;
  }

  SpanTable build() {
    // First, for every span, in the view or not: the row of its children's parent.
    std::vector<uint32_t>& below = table_.row_of;
    below.assign(spans_.size(), kUnknown);
    for (uint32_t i = 0; i < spans_.size(); ++i) {
      path_.clear();
      uint32_t at = i;
      for (; at != kNone && below[at] == kUnknown; at = parents_[at]) path_.push_back(at);
      uint32_t row = at == kNone ? kNone : below[at];
      for (; !path_.empty(); path_.pop_back()) {
        const Span& span = spans_[path_.back()];
        if (of_view_[path_.back()]) row = child(row, span.name);
        below[path_.back()] = row;
      }
    }
    for (size_t i = 0; i < spans_.size(); ++i) {
      if (!of_view_[i]) below[i] = kNone;
    }
    return std::move(table_);
  }

 private:
  static constexpr uint32_t kUnknown = kNone - 1;

  uint32_t child(uint32_t parent, uint32_t name) {
    const auto next = static_cast<uint32_t>(table_.rows.size());
    const auto [place, is_new] = known_.try_emplace(uint64_t{parent} << 32 | name, next);
    if (is_new) {
      const uint32_t depth = parent == kNone ? 0 : table_.rows[parent].depth + 1;
      table_.rows.push_back({.name = name, .parent = parent, .depth = depth});
    }
    return place->second;
  }

  const std::vector<Span>& spans_;
  std::vector<bool> of_view_;
  const std::vector<uint32_t>& parents_;
  std::unordered_map<uint64_t, uint32_t> known_;  // rows by parent and name
  std::vector<uint32_t> path_;
  SpanTable table_;
};

// Sums samples by row.
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

  // Each row once, though several enclosing spans may be in one row.
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

SpanTable span_ranking(const View& view) {
  const Markers& markers = view.profile->markers;
  SpanTable table;
  table.row_of.assign(markers.spans.size(), kNone);
  std::vector<uint32_t> row_of_name(markers.texts.size(), kNone);
  for (const uint32_t i : markers_of(view).spans) {
    uint32_t& row = row_of_name[markers.spans[i].name];
    if (row == kNone) {
      row = static_cast<uint32_t>(table.rows.size());
      table.rows.push_back({.name = markers.spans[i].name});
    }
    table.row_of[i] = row;
  }
  measure(markers.spans, &table);
  reorder(by_total(*view.profile, table.rows), &table);
  return table;
}

SpanTable span_tree(const View& view, const std::vector<uint32_t>& parents) {
  SpanTable table = TreeRows(view, parents).build();
  measure(view.profile->markers.spans, &table);
  reorder(preorder(*view.profile, table.rows), &table);
  return table;
}

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
