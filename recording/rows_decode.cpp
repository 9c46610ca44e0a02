#include <algorithm>
#include <array>
#include <bit>

#include "recording/codec.h"
#include "recording/format.h"

namespace sampan::recording {
namespace {

void decode_processes(ColumnReader* in, Recording* to) {
  for (uint32_t left = in->count(); left > 0 && in->ok(); --left) {
    Process& row = to->processes.emplace_back();
    row.pid = in->zigzag32();
    row.parent_pid = in->zigzag32();
    row.start_ns = in->time();
    row.name = in->string();
  }
  for (uint32_t left = in->count(); left > 0 && in->ok(); --left) {
    ProcessEnd& row = to->process_ends.emplace_back();
    row.process = in->index(to->processes.size());
    row.time_ns = in->time();
    row.cpu_ns = in->maybe_u64();
    row.exit_status = in->maybe_i32();
    row.exit_signal = in->maybe_i32();
    const uint8_t how = in->u8();
    row.replaced = (how & 1) != 0;
    row.lives_on = (how & 2) != 0;
  }
}

void decode_threads(ColumnReader* in, Recording* to) {
  for (uint32_t left = in->count(); left > 0 && in->ok(); --left) {
    Thread& row = to->threads.emplace_back();
    row.process = in->index(to->processes.size());
    row.tid = in->zigzag32();
    row.start_ns = in->time();
    row.name = in->string();
  }
  for (uint32_t left = in->count(); left > 0 && in->ok(); --left) {
    ThreadName& row = to->thread_names.emplace_back();
    row.thread = in->index(to->threads.size());
    row.time_ns = in->time();
    row.name = in->string();
  }
  for (uint32_t left = in->count(); left > 0 && in->ok(); --left) {
    ThreadEnd& row = to->thread_ends.emplace_back();
    row.thread = in->index(to->threads.size());
    row.time_ns = in->time();
    row.cpu_ns = in->maybe_u64();
  }
}

void decode_modules(ColumnReader* in, Recording* to) {
  for (uint32_t left = in->count(); left > 0 && in->ok(); --left) {
    Module& row = to->modules.emplace_back();
    row.path = in->string();
    const std::string build_id = in->string();
    row.build_id.assign(build_id.begin(), build_id.end());
    row.svma_begin = in->uleb();
    row.svma_end = in->uleb();
  }
}

void decode_frames(ColumnReader* in, Recording* to) {
  const size_t first = to->frames.size();
  to->frames.resize(first + in->count());
  uint64_t address = 0;
  for (size_t i = first; i < to->frames.size(); ++i) {
    to->frames[i].module = in->ref(to->modules.size());
  }
  for (size_t i = first; i < to->frames.size(); ++i) {
    to->frames[i].address = address = in->delta(address);
  }
}

void decode_stacks(ColumnReader* in, Recording* to) {
  const size_t first = to->stacks.size();
  const size_t end = first + in->count();
  std::vector<uint64_t> lengths(in->count());
  for (uint64_t& length : lengths) length = in->uleb();
  to->stacks.resize(end);
  size_t at = first;
  for (const uint64_t length : lengths) {
    const uint64_t distance = in->uleb();
    if (length == 0 || length > end - at || distance > at) in->fail();
    if (!in->ok()) return;
    to->stacks[at].prefix = distance == 0 ? kNone : static_cast<uint32_t>(at - distance);
    for (size_t i = 1; i < length; ++i) {
      to->stacks[at + i].prefix = static_cast<uint32_t>(at + i - 1);
    }
    at += length;
  }
  if (at != end) in->fail();
  for (size_t i = first; i < end; ++i) to->stacks[i].frame = in->index(to->frames.size());
}

void decode_waits(ColumnReader* in, Recording* to) {
  for (uint32_t left = in->count(); left > 0 && in->ok(); --left) {
    Wait& row = to->waits.emplace_back();
    row.call = in->string();
    row.object = in->string();
  }
}

void decode_stops(ColumnReader* in, std::span<Sample> rows) {
  size_t at = 0;
  for (uint32_t left = in->count(); left > 0; --left) {
    const uint64_t distance = in->uleb();
    const uint8_t stop = in->u8();
    if (at >= rows.size() || distance >= rows.size() - at || stop >= wire::kStopReasonCount) {
      return in->fail();
    }
    at += distance;
    rows[at++].stop = static_cast<wire::StopReason>(stop);
  }
}

void decode_samples(ColumnReader* in, double growth, Recording* to) {
  const size_t first = to->samples.size();
  const size_t count = in->count();
  if (count == 0) return;
  resize_growing(first + count, growth, &to->samples);
  const std::span<Sample> rows = std::span(to->samples).subspan(first);

  size_t at = 0;
  for (uint32_t runs = in->count(); runs > 0; --runs) {
    const uint32_t thread = in->index(to->threads.size());
    const uint32_t wait = in->ref(to->waits.size());
    const uint64_t length = in->uleb();
    if (length > count - at) in->fail();
    if (!in->ok()) return;
    for (const size_t end = at + length; at < end; ++at) {
      rows[at].thread = thread;
      rows[at].wait = wait;
    }
  }
  if (at != count) return in->fail();

  const uint64_t first_time = in->uleb();
  const uint64_t usual_weight = in->uleb();
  uint64_t ref = 0;
  for (Sample& row : rows) {
    ref = in->delta(ref);
    row.stack = in->index_of_ref(ref, to->stacks.size());
  }
  for (Sample& row : rows) row.weight_ns = in->delta(usual_weight) * kWeightUnit;
  for (size_t i = 0; i < count; ++i) {
    const bool run_begins =
        i == 0 || rows[i].thread != rows[i - 1].thread || rows[i].wait != rows[i - 1].wait;
    const uint64_t time = run_begins ? first_time : uint64_t{rows[i - 1].time_ns};
    rows[i].time_ns = SessionNs::at(in->delta(time + rows[i].weight_ns / kTimeUnit));
  }
  for (Sample& row : rows) row.time_ns = SessionNs::at(row.time_ns * kTimeUnit);
  decode_stops(in, rows);
}

void decode_losses(ColumnReader* in, Recording* to) {
  for (uint32_t left = in->count(); left > 0 && in->ok(); --left) {
    Losses& row = to->losses.emplace_back();
    row.process = in->ref(to->processes.size());
    for (uint32_t i = 0, counters = in->count(); i < counters; ++i) {
      const uint64_t value = in->uleb();
      if (i < wire::kLossCount) row.count[i] = value;
    }
  }
}

// For the samples from `first` on.
void decode_contexts(ColumnReader* in, size_t first, Recording* to) {
  const size_t before = to->contexts.size();
  const uint32_t count = in->count();
  if (count == 0) return;
  for (uint32_t left = count; left > 0 && in->ok(); --left) {
    std::array<uint8_t, sizeof(TraceContext)> bytes{};
    for (uint8_t& byte : bytes) byte = in->u8();
    to->contexts.push_back(std::bit_cast<TraceContext>(bytes));
  }
  size_t at = first;
  for (uint32_t runs = in->count(); runs > 0 && in->ok(); --runs) {
    const uint32_t context = in->ref(count);
    const uint64_t length = in->uleb();
    if (length > to->samples.size() - at) return in->fail();
    for (const size_t end = at + length; at < end; ++at) {
      to->samples[at].context = context == kNone ? kNone : static_cast<uint32_t>(before + context);
    }
  }
  if (at != to->samples.size()) in->fail();
}

RowCounts decode_counts(ColumnReader* in) {
  RowCounts before;
  before.processes = in->uleb();
  before.threads = in->uleb();
  before.modules = in->uleb();
  before.frames = in->uleb();
  before.stacks = in->uleb();
  before.waits = in->uleb();
  return before;
}

}  // namespace

RowCounts counts_of(const Recording& from) {
  return {from.processes.size(), from.threads.size(), from.modules.size(), from.frames.size(),
          from.stacks.size(),    from.waits.size(),   from.locks.size()};
}

bool fill_gaps(const RowCounts& before, uint64_t* lost_rows, Recording* to) {
  Process process;
  Thread thread;
  Module module;
  Wait wait;
  process.name = thread.name = module.path = wait.call = kLostName;
  return fill_gap(before.processes, lost_rows, process, &to->processes) &&
         fill_gap(before.threads, lost_rows, thread, &to->threads) &&
         fill_gap(before.modules, lost_rows, module, &to->modules) &&
         fill_gap(before.frames, lost_rows, Frame{}, &to->frames) &&
         fill_gap(before.stacks, lost_rows, Stack{}, &to->stacks) &&
         fill_gap(before.waits, lost_rows, wait, &to->waits);
}

bool decode_rows(std::span<const uint8_t> payload, double growth, uint64_t* lost_rows,
                 Recording* recording) {
  const Sizes sizes(kRowTables, *recording);
  ColumnReader in(payload);
  const RowCounts before = decode_counts(&in);
  if (!in.ok() || !fill_gaps(before, lost_rows, recording)) in.fail();
  for (const auto decode : {decode_processes, decode_threads, decode_modules, decode_frames,
                            decode_stacks, decode_waits}) {
    if (in.ok()) decode(&in, recording);
  }
  const size_t first_sample = recording->samples.size();
  if (in.ok()) decode_samples(&in, growth, recording);
  if (in.ok()) decode_losses(&in, recording);
  if (in.ok() && !in.at_end()) decode_contexts(&in, first_sample, recording);
  if (in.ok() && !in.at_end()) decode_watch_rows(&in, lost_rows, recording);
  if (!in.ok() || !in.at_end()) {
    sizes.restore(recording);
    return false;
  }
  return true;
}

void close_gaps(Recording* recording) {
  const auto of_nobody = [](const auto& row) { return row.process == kNone; };
  if (std::ranges::any_of(recording->threads, of_nobody) ||
      std::ranges::any_of(recording->locks, of_nobody)) {
    const auto lost = static_cast<uint32_t>(recording->processes.size());
    for (Thread& row : recording->threads) {
      if (of_nobody(row)) row.process = lost;
    }
    for (Lock& row : recording->locks) {
      if (of_nobody(row)) row.process = lost;
    }
    recording->processes.emplace_back().name = kLostName;
  }
  const auto nowhere = [](const Stack& row) { return row.frame == kNone; };
  if (std::any_of(recording->stacks.begin(), recording->stacks.end(), nowhere)) {
    for (Stack& row : recording->stacks) {
      if (nowhere(row)) row.frame = static_cast<uint32_t>(recording->frames.size());
    }
    recording->frames.emplace_back();
  }
}

}  // namespace sampan::recording
