#include "exporters/fitting_markers.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

namespace sampan::exporters {
namespace {

using profile::Markers;

using SizeOf = std::function<uint64_t(uint32_t row)>;

// The rows of one table, and their bytes.
struct Kind {
  const char* name;
  std::vector<uint32_t>* rows;
  SizeOf size_of;
  // The duration of an interval; events and counters have none.
  std::function<uint64_t(uint32_t row)> duration_ns;
  uint64_t size = 0;
};

// Bytes that small tables do not need are left for the others.
std::vector<uint64_t> shares(const std::vector<Kind>& kinds, uint64_t all) {
  std::vector<size_t> order(kinds.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return kinds[a].size < kinds[b].size; });
  std::vector<uint64_t> result(kinds.size());
  for (size_t i = 0; i < order.size(); ++i) {
    const uint64_t share = std::min(kinds[order[i]].size, all / (order.size() - i));
    result[order[i]] = share;
    all -= share;
  }
  return result;
}

std::string keep_longest(const Kind& kind, uint64_t size) {
  // There may be ten million, so the duration is stored beside the row.
  std::vector<std::pair<uint64_t, uint32_t>> by_length;
  by_length.reserve(kind.rows->size());
  for (const uint32_t row : *kind.rows) by_length.emplace_back(kind.duration_ns(row), row);
  std::sort(by_length.begin(), by_length.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  size_t kept = 0;
  for (uint64_t sum = 0; kept < by_length.size(); ++kept) {
    sum += kind.size_of(by_length[kept].second);
    if (sum > size) break;
  }
  kind.rows->clear();
  for (size_t i = 0; i < kept; ++i) kind.rows->push_back(by_length[i].second);
  std::sort(kind.rows->begin(), kind.rows->end());  // like the table: by time
  return fmt::format("{} of {} {}, the shortest (up to {:.3f} ms), are left out",
                     by_length.size() - kept, by_length.size(), kind.name,
                     static_cast<double>(by_length[kept].first) / 1e6);
}

std::string keep_some(const Kind& kind, uint64_t size) {
  const uint64_t step = size == 0 ? 0 : (kind.size + size - 1) / size;
  const size_t all = kind.rows->size();
  std::vector<uint32_t> kept;
  for (size_t i = 0; step != 0 && i < all; i += step) kept.push_back((*kind.rows)[i]);
  *kind.rows = std::move(kept);
  return fmt::format(
      "{} of {} {} are left out: {}", all - kind.rows->size(), all, kind.name,
      kind.rows->empty() ? "there is no room" : fmt::format("one in {} is there", step));
}

}  // namespace

FittingMarkers fitting_markers(const profile::View& view, uint64_t max_size,
                               const MarkerBytes& bytes) {
  const Markers& markers = view.profile->markers;
  FittingMarkers result{markers_of(view), {}};
  const size_t not_finite = std::erase_if(
      result.rows.counters, [&](uint32_t i) { return !std::isfinite(markers.counters[i].value); });
  if (not_finite != 0) {
    result.notes.push_back(
        fmt::format("{} values of counters are infinite or no numbers, and left out", not_finite));
  }
  const auto interval = [&](uint64_t size, uint32_t name, uint32_t text) {
    return size + bytes.names * markers.texts[name].size() + markers.texts[text].size();
  };
  const auto moment = [&](uint64_t size, uint32_t name, uint32_t text) {
    const uint64_t name_size = bytes.names == 0 ? 0 : markers.texts[name].size();
    return size + name_size + markers.texts[text].size();
  };
  const auto duration_in = [](const auto& rows) {
    return [&rows](uint32_t i) { return rows[i].end_ns - rows[i].begin_ns; };
  };
  std::vector<Kind> kinds = {
      {"spans", &result.rows.spans,
       [&](uint32_t i) {
         return interval(bytes.span, markers.spans[i].name, markers.spans[i].text);
       },
       duration_in(markers.spans)},
      {"sections", &result.rows.sections,
       [&](uint32_t i) { return interval(bytes.section, markers.sections[i].name, 0); },
       duration_in(markers.sections)},
      {"events",
       &result.rows.events,
       [&](uint32_t i) {
         return moment(bytes.event, markers.events[i].name, markers.events[i].text);
       },
       {}},
      {"values of counters",
       &result.rows.counters,
       [&](uint32_t i) { return moment(bytes.counter, markers.counters[i].name, 0); },
       {}}};
  for (Kind& kind : kinds) {
    for (const uint32_t row : *kind.rows) kind.size += kind.size_of(row);
  }
  const std::vector<uint64_t> sizes = shares(kinds, max_size);
  for (size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i].size <= sizes[i]) continue;
    result.notes.push_back(kinds[i].duration_ns ? keep_longest(kinds[i], sizes[i])
                                                : keep_some(kinds[i], sizes[i]));
  }
  return result;
}

std::string span_id(uint64_t id) {
  return fmt::format("{:016x}", id);
}

std::string_view closed_text(profile::Closed closed) {
  switch (closed) {
    case profile::Closed::kByProgram: return "";
    case profile::Closed::kByThreadEnd: return "by the end of its thread";
    case profile::Closed::kByProcessEnd: return "by the end of its process";
    case profile::Closed::kBySegmentEnd: return "by the end of the segment";
  }
  return "";
}

}  // namespace sampan::exporters
