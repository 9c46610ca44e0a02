// Whatever a recording's rows of markers may say, for the tables derived from them: parents that are
// their own children, huge times, duplicate ids. Sums must agree, and every page must be complete.
//
//   input  { u8 kind, u8 thread, u8 name, u8 id, u8 parent, u8 begin, u8 duration }...
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/byte_cursor.h"
#include "base/error.h"
#include "profile/markers.h"
#include "profile/metrics.h"
#include "profile/span_explain.h"
#include "reports/spans.h"

namespace {

using namespace sampan;

constexpr size_t kRowBytes = 7;

void require(bool truth) {
  if (!truth) std::abort();
}

// Mostly small, so that rows overlap; some as large as possible.
uint64_t wide(uint8_t byte) {
  return byte < 250 ? byte : UINT64_MAX >> (byte - 250) * 8;
}

profile::Profile profile_of(ByteCursor in) {
  profile::Profile profile;
  profile.processes.resize(2);
  profile.threads.resize(3);
  for (uint32_t i = 0; i < 3; ++i) profile.threads[i].process = i / 2;
  profile.functions.push_back({.name = profile.strings.intern("work")});
  profile.lines.push_back({.function = 0});
  profile.locations = {{.first_line = 0, .line_count = 1},
                       {.first_line = 0, .line_count = 1, .wait = 0}};
  profile.stacks = {{.location = 0}, {.prefix = 0, .location = 1}};
  profile.waits.push_back({"read", ""});
  profile.losses.assign(32, 0);
  profile::Markers markers;
  markers.texts = {"", "a", "b\"<\n", "\xff"};
  while (in.remaining() >= kRowBytes) {
    const uint8_t kind = in.u8();
    const uint32_t thread = in.u8() % 3, name = in.u8() % 4;
    const uint64_t id = wide(in.u8()), parent = wide(in.u8());
    const auto begin_ns = SessionNs::at(wide(in.u8()));
    const uint64_t duration_ns = wide(in.u8());
    if (kind % 4 == 0) {
      const bool waits = kind % 8 == 0;
      profile.samples.push_back(
          {begin_ns, duration_ns, thread, waits ? 1u : 0u, waits ? 0 : profile::kNone, true});
    } else if (kind % 4 == 1) {
      markers.counters.push_back({begin_ns, static_cast<double>(id), thread, name});
    } else {
      profile::Span& span = markers.spans.emplace_back();
      span.begin_ns = begin_ns;
      span.end_ns = std::max(begin_ns, begin_ns + duration_ns);  // as the reader promises
      span.id = id;
      span.parent_id = parent;
      span.name = name;
      span.thread = thread;
      span.end_thread = kind / 8 % 3;
      span.kind = static_cast<profile::SpanKind>(kind / 32 % 2);
      span.closed = static_cast<profile::Closed>(kind / 64 % 3);
    }
  }
  std::stable_sort(profile.samples.begin(), profile.samples.end(),
                   [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  load_markers(std::move(markers), &profile);
  return profile;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const profile::Profile profile = profile_of(ByteCursor({data, size}));
  const profile::View view = profile::select(profile);
  profile::SampledSpans sampled(profile);
  for (const bool tree : {false, true}) {
    reports::SpanReport report{.view = view, .tree = tree};
    report.table = tree ? span_tree(view, sampled.parents()) : span_ranking(view);
    report.times = span_times(view, report.table, sampled);
    uint64_t spans = 0;
    for (const profile::SpanRow& row : report.table.rows) {
      spans += row.count;
      require(row.min_ns <= row.p50_ns && row.p50_ns <= row.p95_ns && row.p95_ns <= row.p99_ns &&
              row.p99_ns <= row.max_ns);
      require(row.parent == profile::kNone || &report.table.rows[row.parent] < &row);
    }
    require(spans == profile.markers.spans.size());
    require(!spans_page(report, {}).empty() && !spans_csv(report).empty() &&
            !spans_json(report).empty());
  }
  for (const profile::Metric& metric : profile::metrics_of(view)) {
    require(!metric.points.empty());
    profile::intervals(metric);
    profile::values(metric);
  }
  try {
    const auto explanation = profile::explain_span(view, "a", sampled, {.slow_part = 0.5});
    require(!reports::explanation_json(view, explanation).empty());
  } catch (const Error&) {
    // There is no such span.
  }
  return 0;
}
