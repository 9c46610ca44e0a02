#include <algorithm>
#include <array>
#include <bit>
#include <tuple>
#include <vector>

#include "recording/codec.h"
#include "recording/format.h"

namespace sampan::recording {
namespace {

void encode_processes(const Recording& rows, ColumnWriter* out) {
  out->uleb(rows.processes.size());
  for (const Process& row : rows.processes) {
    out->zigzag(row.pid);
    out->zigzag(row.parent_pid);
    out->uleb(row.start_ns);
    out->string(row.name);
  }
  out->uleb(rows.process_ends.size());
  for (const ProcessEnd& row : rows.process_ends) {
    out->uleb(row.process);
    out->uleb(row.time_ns);
    out->maybe(row.cpu_ns);
    out->maybe(row.exit_status);
    out->maybe(row.exit_signal);
    out->u8(static_cast<uint8_t>((row.replaced ? 1 : 0) | (row.lives_on ? 2 : 0)));
  }
}

void encode_threads(const Recording& rows, ColumnWriter* out) {
  out->uleb(rows.threads.size());
  for (const Thread& row : rows.threads) {
    out->uleb(row.process);
    out->zigzag(row.tid);
    out->uleb(row.start_ns);
    out->string(row.name);
  }
  out->uleb(rows.thread_names.size());
  for (const ThreadName& row : rows.thread_names) {
    out->uleb(row.thread);
    out->uleb(row.time_ns);
    out->string(row.name);
  }
  out->uleb(rows.thread_ends.size());
  for (const ThreadEnd& row : rows.thread_ends) {
    out->uleb(row.thread);
    out->uleb(row.time_ns);
    out->maybe(row.cpu_ns);
  }
}

void encode_modules(const Recording& rows, ColumnWriter* out) {
  out->uleb(rows.modules.size());
  for (const Module& row : rows.modules) {
    out->string(row.path);
    out->string({reinterpret_cast<const char*>(row.build_id.data()), row.build_id.size()});
    out->uleb(row.svma_begin);
    out->uleb(row.svma_end);
  }
}

void encode_frames(const Recording& rows, ColumnWriter* out) {
  out->uleb(rows.frames.size());
  for (const Frame& row : rows.frames) out->ref(row.module);
  uint64_t address = 0;
  for (const Frame& row : rows.frames) {
    out->delta(row.address, address);
    address = row.address;
  }
}

void encode_stacks(const Recording& rows, uint64_t before, ColumnWriter* out) {
  std::vector<uint64_t> lengths, distances;
  for (uint64_t i = 0; i < rows.stacks.size(); ++i) {
    const uint64_t index = before + i;
    const uint32_t prefix = rows.stacks[i].prefix;
    if (i == 0 || prefix == kNone || uint64_t{prefix} + 1 != index) {
      lengths.push_back(0);
      distances.push_back(prefix == kNone ? 0 : index - prefix);
    }
    ++lengths.back();
  }
  out->uleb(rows.stacks.size());
  out->uleb(lengths.size());
  for (const uint64_t length : lengths) out->uleb(length);
  for (const uint64_t distance : distances) out->uleb(distance);
  for (const Stack& row : rows.stacks) out->uleb(row.frame);
}

void encode_waits(const Recording& rows, ColumnWriter* out) {
  out->uleb(rows.waits.size());
  for (const Wait& row : rows.waits) {
    out->string(row.call);
    out->string(row.object);
  }
}

uint64_t median_weight(const std::vector<Sample>& samples) {
  std::vector<uint64_t> values;
  for (const Sample& sample : samples) values.push_back(sample.weight_ns / kWeightUnit);
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void encode_stops(const std::vector<Sample>& samples, ColumnWriter* out) {
  const auto is_complete = [](const Sample& row) { return row.stop == wire::StopReason::kRoot; };
  out->uleb(samples.size() - static_cast<size_t>(std::ranges::count_if(samples, is_complete)));
  uint64_t distance = 0;
  for (const Sample& sample : samples) {
    if (is_complete(sample)) {
      ++distance;
      continue;
    }
    out->uleb(distance);
    out->u8(static_cast<uint8_t>(sample.stop));
    distance = 0;
  }
}

std::vector<Sample> in_runs(std::vector<Sample> samples) {
  std::stable_sort(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) {
    return std::tuple(a.thread, a.wait) < std::tuple(b.thread, b.wait);
  });
  return samples;
}

void encode_samples(const std::vector<Sample>& samples, ColumnWriter* out) {
  out->uleb(samples.size());
  if (samples.empty()) return;
  const auto run_begins = [&](size_t i) {
    return i == 0 || samples[i].thread != samples[i - 1].thread ||
           samples[i].wait != samples[i - 1].wait;
  };

  std::vector<size_t> runs;  // where they begin
  for (size_t i = 0; i < samples.size(); ++i) {
    if (run_begins(i)) runs.push_back(i);
  }
  out->uleb(runs.size());
  runs.push_back(samples.size());
  for (size_t i = 0; i + 1 < runs.size(); ++i) {
    out->uleb(samples[runs[i]].thread);
    out->ref(samples[runs[i]].wait);
    out->uleb(runs[i + 1] - runs[i]);
  }

  const uint64_t first_time = samples.front().time_ns / kTimeUnit;
  const uint64_t usual_weight = median_weight(samples);
  out->uleb(first_time);
  out->uleb(usual_weight);
  uint64_t stack = 0;
  for (const Sample& sample : samples) {
    const uint64_t ref = sample.stack == kNone ? 0 : uint64_t{sample.stack} + 1;
    out->delta(ref, stack);
    stack = ref;
  }
  for (const Sample& sample : samples) out->delta(sample.weight_ns / kWeightUnit, usual_weight);
  for (size_t i = 0; i < samples.size(); ++i) {
    const uint64_t time = run_begins(i) ? first_time : samples[i - 1].time_ns / kTimeUnit;
    out->delta(samples[i].time_ns / kTimeUnit, time + samples[i].weight_ns / kTimeUnit);
  }
  encode_stops(samples, out);
}

void encode_contexts(const std::vector<TraceContext>& contexts, const std::vector<Sample>& samples,
                     ColumnWriter* out) {
  out->uleb(contexts.size());
  if (contexts.empty()) return;
  for (const TraceContext& row : contexts) {
    for (const uint8_t byte : std::bit_cast<std::array<uint8_t, sizeof row>>(row)) out->u8(byte);
  }
  std::vector<size_t> ends;  // of runs
  for (size_t i = 1; i <= samples.size(); ++i) {
    if (i == samples.size() || samples[i].context != samples[i - 1].context) ends.push_back(i);
  }
  out->uleb(ends.size());
  size_t begin = 0;
  for (const size_t end : ends) {
    out->ref(samples[begin].context);
    out->uleb(end - begin);
    begin = end;
  }
}

void encode_losses(const Recording& rows, ColumnWriter* out) {
  out->uleb(rows.losses.size());
  for (const Losses& row : rows.losses) {
    out->ref(row.process);
    out->uleb(wire::kLossCount);
    for (const uint64_t count : row.count) out->uleb(count);
  }
}

}  // namespace

void encode_rows(const Recording& rows, const RowCounts& before, ColumnWriter* out) {
  out->uleb(before.processes);
  out->uleb(before.threads);
  out->uleb(before.modules);
  out->uleb(before.frames);
  out->uleb(before.stacks);
  out->uleb(before.waits);
  encode_processes(rows, out);
  encode_threads(rows, out);
  encode_modules(rows, out);
  encode_frames(rows, out);
  encode_stacks(rows, before.stacks, out);
  encode_waits(rows, out);
  const std::vector<Sample> samples = in_runs(rows.samples);
  encode_samples(samples, out);
  encode_losses(rows, out);
  const bool has_watched = has_watch_rows(rows);
  if (!rows.contexts.empty() || has_watched) encode_contexts(rows.contexts, samples, out);
  if (has_watched) encode_watch_rows(rows, before.locks, out);
}

}  // namespace sampan::recording
