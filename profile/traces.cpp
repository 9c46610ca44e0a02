#include "profile/traces.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "profile/function_shares.h"
#include "profile/spans.h"

namespace sampan::profile {
namespace {

// One row while samples are added to it.
struct Growing {
  TraceSpan span;
  wire::SpanId caller = {};
  std::unordered_map<uint32_t, uint64_t> functions, waits, names;
};

// By process, and by span, or by the caller where the span is not known.
using RowKey = std::tuple<uint32_t, wire::SpanId, wire::SpanId>;
using Rows = std::map<RowKey, Growing>;

RowKey key_of(uint32_t process, const TraceContext& context) {
  const bool is_known = context.span_id != wire::SpanId{};
  return {process, context.span_id, is_known ? wire::SpanId{} : context.parent_id};
}

std::vector<std::pair<uint32_t, uint64_t>> sorted(
    const std::unordered_map<uint32_t, uint64_t>& sums) {
  std::vector<std::pair<uint32_t, uint64_t>> rows(sums.begin(), sums.end());
  std::ranges::sort(rows, [](const auto& a, const auto& b) {
    return std::tuple(b.second, a.first) < std::tuple(a.second, b.first);
  });
  return rows;
}

// By sample of the profile, the name of the outermost nested span around it; kNone: none.
std::vector<uint32_t> outermost_names(const Profile& profile) {
  std::vector<uint32_t> names(profile.samples.size(), kNone);
  if (profile.markers.spans.empty()) return names;
  SampledSpans sampled(profile);
  sampled.for_each(State::kAll, [&](const Sample& sample, uint32_t innermost, const auto&,
                                    uint64_t) {
    if (sample.context == kNone || innermost == kNone) return;
    uint32_t span = innermost;
    while (sampled.parents()[span] != kNone) span = sampled.parents()[span];
    names[static_cast<size_t>(&sample - profile.samples.data())] = profile.markers.spans[span].name;
  });
  return names;
}

class TraceBuilder {
 public:
  explicit TraceBuilder(const View& view)
      : profile_(*view.profile), functions_(profile_, ShareOf::kSelf) {
    const std::vector<uint32_t> names = outermost_names(profile_);
    for (const uint32_t index : view.samples) {
      const Sample& sample = profile_.samples[index];
      if (sample.context != kNone) add(sample, names[index]);
    }
  }

  std::vector<Trace> finish() {
    std::vector<Trace> traces;
    for (auto& [id, rows] : traces_) traces.push_back(finish(id, rows));
    std::ranges::stable_sort(traces, std::greater(), &Trace::total_ns);
    return traces;
  }

 private:
  void add(const Sample& sample, uint32_t name) {
    const TraceContext& context = profile_.contexts[sample.context];
    const uint32_t process = profile_.threads[sample.thread].process;
    Growing& row = traces_[context.trace_id][key_of(process, context)];
    row.span.span_id = context.span_id;
    row.span.process = process;
    if (row.caller == wire::SpanId{}) row.caller = context.parent_id;
    row.span.begin_ns = std::min(row.span.begin_ns, sample.time_ns.earlier(sample.weight_ns));
    row.span.end_ns = std::max(row.span.end_ns, sample.time_ns);
    if (name != kNone) row.names[name] += sample.weight_ns;
    const Weight weight{sample.weight_ns, 1};
    if (sample.wait == kNone) {
      row.span.cpu += weight;
      if (sample.stack == kNone) return;
      for (const uint32_t function : functions_.of(sample.stack)) {
        row.functions[function] += sample.weight_ns;
      }
    } else if (profile_.is_runnable(sample.wait)) {
      row.span.runnable += weight;
    } else {
      row.span.waiting += weight;
      row.waits[sample.wait] += sample.weight_ns;
    }
  }

  static Trace finish(const wire::TraceId& id, Rows& rows) {
    Trace trace;
    trace.trace_id = id;
    std::vector<Growing*> all;
    std::set<uint32_t> processes;
    for (auto& [key, row] : rows) {
      TraceSpan& span = row.span;
      span.functions = sorted(row.functions);
      span.waits = sorted(row.waits);
      if (!row.names.empty()) span.name = sorted(row.names).front().first;
      trace.cpu += span.cpu;
      trace.waiting += span.waiting;
      trace.runnable += span.runnable;
      trace.begin_ns = std::min(trace.begin_ns, span.begin_ns);
      trace.end_ns = std::max(trace.end_ns, span.end_ns);
      processes.insert(span.process);
      all.push_back(&row);
    }
    trace.processes = static_cast<uint32_t>(processes.size());
    std::ranges::stable_sort(all, {}, [](const Growing* row) { return row->span.begin_ns; });
    place(all, &trace);
    return trace;
  }

  // Rows below their callers. Rows that call each other in a circle, which a service may say wrongly, begin with the
  // earliest.
  static void place(const std::vector<Growing*>& rows, Trace* trace) {
    std::multimap<wire::SpanId, const Growing*> by_id;
    for (const Growing* row : rows) by_id.emplace(row->span.span_id, row);
    const auto caller_of = [&](const Growing& row) -> const Growing* {
      if (row.caller == wire::SpanId{}) return nullptr;
      const auto [begin, end] = by_id.equal_range(row.caller);
      const auto found = std::find_if(begin, end, [&](const auto& other) {
        return other.second->span.process != row.span.process;
      });
      return found == end ? nullptr : found->second;
    };
    std::unordered_map<const Growing*, std::vector<Growing*>> called;
    std::vector<Growing*> first, rest;
    for (Growing* row : rows) {
      const Growing* const caller = caller_of(*row);
      (caller == nullptr ? first : rest).push_back(row);
      if (caller != nullptr) called[caller].push_back(row);
    }
    first.insert(first.end(), rest.begin(), rest.end());
    std::set<const Growing*> placed;
    for (Growing* root : first) {
      struct Waiting {
        Growing* row;
        uint32_t parent, depth;
      };
      std::vector<Waiting> waiting = {{root, kNone, 0}};
      while (!waiting.empty()) {
        const auto [row, parent, depth] = waiting.back();
        waiting.pop_back();
        if (!placed.insert(row).second) continue;
        const auto index = static_cast<uint32_t>(trace->spans.size());
        row->span.parent = parent;
        row->span.depth = depth;
        trace->spans.push_back(std::move(row->span));
        std::vector<Growing*>& below = called[row];
        for (auto each = below.rbegin(); each != below.rend(); ++each) {
          waiting.push_back({*each, index, depth + 1});
        }
      }
    }
  }

  const Profile& profile_;
  StackFunctions functions_;
  std::map<wire::TraceId, Rows> traces_;
};

}  // namespace

std::vector<Trace> traces_of(const View& view) {
  return TraceBuilder(view).finish();
}

}  // namespace sampan::profile
