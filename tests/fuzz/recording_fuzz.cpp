// Damaged recordings: the input is a list of parts, each of them junk or a block with a valid checksum
// and wrong content. Whatever the reader returns must keep the promises of reader.h and load as a
// profile.
//
//   input  { u8 kind, u16 size, size bytes }...
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/byte_cursor.h"
#include "base/error.h"
#include "profile/call_tree.h"
#include "profile/flat.h"
#include "profile/heap_tables.h"
#include "profile/load.h"
#include "profile/locks.h"
#include "profile/shown.h"
#include "recording/block.h"
#include "recording/codec.h"
#include "recording/segments.h"

namespace {

using namespace sampan;
using recording::BlockType;
using recording::kNone;

enum Part : uint8_t {
  kJunk,            // the bytes as they are
  kBlock,           // u8 type, then the payload
  kPatchedRows,     // real rows, changed by { u16 offset, u8 value } each
  kPatchedFile,     // the file so far, changed likewise
  kPatchedMarkers,  // a real block of markers, changed as rows are
  kPatchedNames,    // the same of names of frames
  kPatchedJitNames,
  kPatchedIds,  // a segment block and one of identities, the latter changed as rows are
  kPartCount,
};

void require(bool truth) {
  if (!truth) std::abort();
}

std::vector<uint8_t> real_rows() {
  recording::Recording rows;
  rows.processes = {{100, 1, 5, "/usr/bin/app"}};
  rows.process_ends = {{0, 900, 70, 3, 9, false}};
  rows.threads = {{0, 100, 5, "app"}, {0, 101, 6, "worker"}};
  rows.thread_names = {{1, 20, "late"}};
  rows.thread_ends = {{1, 800, 33}};
  rows.modules = {{"/usr/bin/app", {1, 2, 3}, 0x1000, 0x2000}};
  rows.frames = {{0, 0x10}, {0, 0x20}, {kNone, 0x30}};
  rows.stacks = {{kNone, 0}, {0, 1}, {1, 2}, {kNone, 2}};
  rows.waits = {{"read", "pipe:[4711]"}, {"runnable", ""}};
  rows.samples = {{0, 1, 40, 4, {}},     {1, 2, 10, 7, {}},     {0, 3, 60, 5, {}},
                  {1, kNone, 50, 8, {}}, {1, 2, 70, 20, {}, 0}, {1, kNone, 90, 3, {}, 1}};
  rows.losses.resize(1);
  rows.watch_changes = {{0, 5, recording::Watched::kHeap, 512}};
  rows.allocations = {{0, 1, 20, 1, 64, 512}, {1, kNone, 30, 2, 4096, 512}};
  rows.frees = {{1, 0, 35, 1}};
  rows.locks = {{0, 0x7000, 1, kNone, recording::LockKind::kMutex}, {0, 0x7010}};
  rows.lock_waits = {{1, 1, 20, 15, 10, 1, recording::LockKind::kMutex, {}, 0, 2, 0, 2, 34}};
  recording::ColumnWriter out;
  encode_rows(rows, {}, &out);
  return {out.bytes().begin(), out.bytes().end()};
}

// With a row too many of processes and threads: rows of lost blocks.
std::vector<uint8_t> real_markers() {
  recording::Markers markers;
  markers.texts = {"", "parse", "value"};
  markers.spans = {{10, 20, 7, 0, 1, 2, 1, 0, recording::SpanKind::kAcross, {}},
                   {12, UINT64_MAX, 8, 7, 1, 0, 0, 0, {}, recording::Closed::kByProcessEnd}};
  markers.events = {{15, 1, 1, 2}, {16, 0, 2, 0}};
  markers.counters = {{16, -0.5, 1, 2}};
  markers.sections = {{1, 2, 0, 1, 1, {}}, {1, 2, 0, kNone, 1, {}}};
  markers.pauses = {{3, 4, 0}};
  markers.labels = {{5, 0, 1, 2, -3}, {6, 0, kNone, 0, {}}};
  markers.steps = {{7, 9, 1, 99, 1, 1, 2, recording::StepKind::kTask}, {8, 8}};
  recording::ColumnWriter out;
  encode_markers(markers, 1, 2, &out);
  return {out.bytes().begin(), out.bytes().end()};
}

recording::Names example_names() {
  recording::Names names;
  names.texts = {"", "main", "/src/main.c", "compiled"};
  names.functions = {{1, 2, 10, 0}, {3, 0, 0, kNone}};
  names.frames = {{0, 2}, {2, 1}};
  names.lines = {{0, 2, 11, 5}, {1, 0, 0}, {1, 2, 12, 300}};
  names.jit = {{0, 2, 0, 3}, {0, 2, 45, 1}};
  return names;
}

std::vector<uint8_t> real_names(void (*encode)(const recording::Names&, recording::ColumnWriter*)) {
  recording::ColumnWriter out;
  encode(example_names(), &out);
  return {out.bytes().begin(), out.bytes().end()};
}

std::vector<uint8_t> real_segment() {
  recording::ColumnWriter out;
  encode(recording::Segment{3, 12, 50}, &out);
  return {out.bytes().begin(), out.bytes().end()};
}

std::vector<uint8_t> real_identities() {
  recording::ColumnWriter out;
  encode(recording::Identities{{{0, 7, {}}}, {{0, 70}, {1, 71}}}, &out);
  return {out.bytes().begin(), out.bytes().end()};
}

template <typename Bytes>
void patch(ByteCursor patches, Bytes* bytes) {
  while (!patches.at_end() && !bytes->empty()) {
    const size_t offset = patches.u16() % bytes->size();
    (*bytes)[offset] = static_cast<typename Bytes::value_type>(patches.u8());
  }
}

std::string file_of(std::span<const uint8_t> input) {
  static const std::vector<uint8_t> rows = real_rows();
  static const std::vector<uint8_t> markers = real_markers();
  static recording::BlockEncoder encoder;
  static const std::vector<uint8_t> names = real_names(recording::encode_names);
  static const std::vector<uint8_t> jit_names = real_names(recording::encode_jit_names);
  std::string file("SAMPAN\5\0", 8);
  const auto append_changed = [&](BlockType type, std::vector<uint8_t> changed, ByteCursor part) {
    patch(part, &changed);
    encoder.append(type, changed, &file);
  };
  ByteCursor in(input);
  while (!in.at_end()) {
    const uint8_t kind = in.u8() % kPartCount;
    const size_t size = std::min<size_t>(in.u16(), in.remaining());
    ByteCursor part(in.take(size));
    switch (kind) {
      case kJunk:
        file.append(reinterpret_cast<const char*>(part.take(part.remaining()).data()), size);
        break;
      case kBlock: {
        const auto type = static_cast<BlockType>(part.u8());
        encoder.append(type, part.take(part.remaining()), &file);
        break;
      }
      case kPatchedRows: append_changed(BlockType::kRows, rows, part); break;
      case kPatchedMarkers: append_changed(BlockType::kMarkers, markers, part); break;
      case kPatchedNames: append_changed(BlockType::kNames, names, part); break;
      case kPatchedJitNames: append_changed(BlockType::kJitNames, jit_names, part); break;
      case kPatchedIds:
        encoder.append(BlockType::kSegment, real_segment(), &file);
        append_changed(BlockType::kIdentities, real_identities(), part);
        break;
      case kPatchedFile: patch(part, &file); break;
    }
  }
  return file;
}

void check(const recording::Recording& recording) {
  for (const auto& row : recording.threads) require(row.process < recording.processes.size());
  for (const auto& row : recording.thread_names) require(row.thread < recording.threads.size());
  for (const auto& row : recording.thread_ends) require(row.thread < recording.threads.size());
  for (const auto& row : recording.process_ends) {
    require(row.process < recording.processes.size());
  }
  for (const auto& row : recording.losses) {
    require(row.process == kNone || row.process < recording.processes.size());
  }
  for (const auto& row : recording.earlier_losses) {
    require(row.process < recording.processes.size());
  }
  for (const auto& row : recording.frames) {
    require(row.module == kNone || row.module < recording.modules.size());
  }
  for (size_t i = 0; i < recording.stacks.size(); ++i) {
    require(recording.stacks[i].frame < recording.frames.size());
    require(recording.stacks[i].prefix == kNone || recording.stacks[i].prefix < i);
  }
  for (const auto& row : recording.samples) {
    require(row.thread < recording.threads.size());
    require(row.stack == kNone || row.stack < recording.stacks.size());
    require(row.wait == kNone || row.wait < recording.waits.size());
    require(static_cast<unsigned>(row.stop) < wire::kStopReasonCount);
  }
}

void check_watched(const recording::Recording& recording) {
  const size_t threads = recording.threads.size(), stacks = recording.stacks.size();
  const size_t processes = recording.processes.size(), frames = recording.frames.size();
  const auto is_ref = [](uint32_t row, size_t rows) { return row == kNone || row < rows; };
  for (const auto& row : recording.watch_changes) {
    require(row.process < processes);
    require(static_cast<unsigned>(row.what) < recording::kWatchedCount);
  }
  for (const auto& row : recording.allocations) {
    require(row.thread < threads && is_ref(row.stack, stacks) && row.mean > 0);
    require(static_cast<unsigned>(row.kind) < wire::kAllocationKindCount);
    require(static_cast<unsigned>(row.stop) < wire::kStopReasonCount);
  }
  for (const auto& row : recording.frees) {
    require(row.thread < threads && is_ref(row.stack, stacks));
    require(static_cast<unsigned>(row.stop) < wire::kStopReasonCount);
  }
  for (const auto& row : recording.locks) {
    require(row.process < processes && is_ref(row.frame, frames) && is_ref(row.origin, frames));
    require(static_cast<unsigned>(row.kind) < wire::kLockKindCount);
  }
  for (const auto& row : recording.lock_waits) {
    require(row.thread < threads && is_ref(row.holder, threads) && is_ref(row.waker, threads));
    require(is_ref(row.stack, stacks) && is_ref(row.holder_stack, stacks));
    require(is_ref(row.waker_stack, stacks) && row.lock < recording.locks.size());
    require(row.begin_ns + row.duration_ns >= row.begin_ns);
    require(static_cast<unsigned>(row.kind) < wire::kLockKindCount);
    require(static_cast<unsigned>(row.stop) < wire::kStopReasonCount);
  }
}

void check(const recording::Recording& recording, const recording::Markers& markers) {
  const size_t threads = recording.threads.size(), processes = recording.processes.size();
  const size_t texts = markers.texts.size();
  require(texts > 0 && markers.texts[0].empty());
  for (const auto& row : markers.spans) {
    require(row.begin_ns <= row.end_ns && row.name < texts && row.text < texts);
    require(row.thread < threads && row.end_thread < threads);
    require(static_cast<unsigned>(row.kind) < recording::kSpanKindCount);
    require(static_cast<unsigned>(row.closed) < recording::kClosedCount);
  }
  for (const auto& row : markers.events) {
    require(row.thread < threads && row.name < texts && row.text < texts);
  }
  for (const auto& row : markers.counters) {
    require(row.thread < threads && row.name < texts && std::isfinite(row.value));
  }
  for (const auto& row : markers.sections) {
    require(row.begin_ns <= row.end_ns && row.process < processes && row.name < texts);
    require(row.thread == kNone || row.thread < threads);
  }
  for (const auto& row : markers.pauses) {
    require(row.begin_ns <= row.end_ns && row.process < processes);
  }
  for (const auto& row : markers.labels) {
    require(row.process < processes && (row.thread == kNone || row.thread < threads));
    require(row.text < texts);
  }
  for (const auto& row : markers.steps) {
    require(row.begin_ns <= row.end_ns && row.thread < threads);
    require(row.name < texts && row.text < texts);
    require(static_cast<unsigned>(row.kind) < recording::kStepKindCount);
  }
}

void check_sums(const profile::Profile& profile) {
  const profile::View view = profile::select(profile);
  require(profile::call_tree(view)[0].total == profile::total_weight(view));
  profile::Weight selves;
  for (const auto& row : profile::flat_table(view)) selves += row.self;
  require(selves == profile::total_weight(view));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string file = file_of({data, size});
  try {
    recording::Recording recording = recording::parse(file, "fuzz");
    check(recording);
    check_watched(recording);
    check(recording, recording.markers);
    // As two segments of a session, of which a part is asked for.
    recording::Joiner joiner;
    joiner.add(recording);
    joiner.add(recording);
    const recording::Recording joined = joiner.finish();
    check(joined);
    check_watched(joined);
    check(joined, joined.markers);
    const recording::Recording part = recording::rebased(recording::cut(joined, 15, 800));
    check(part);
    check_watched(part);
    check(part, part.markers);
    profile::Profile profile = profile::load(std::move(recording));
    check_sums(profile);
    for (const profile::Shown shown : {profile::Shown::kHeap, profile::Shown::kLocks}) {
      try {
        show(shown, &profile);
      } catch (const Error&) {  // there is none
        continue;
      }
      check_sums(profile);
      const profile::View view = profile::select(profile);
      if (shown == profile::Shown::kHeap) {
        require(std::isfinite(heap_totals(view).peak_bytes));
        for (const auto& row : possible_leaks(view)) require(row.survived <= 1.000001);
        heap_growth(view);
        freed_by(view);
      } else {
        require(std::isfinite(lock_total(view).waited_ns));
        lock_table(view);
        blocked_by(view);
        lock_sides(view, lock_table(view));
      }
    }
    show(profile::Shown::kSamples, &profile);
    check_sums(profile);
  } catch (const Error&) {
    // Not a recording: the reader says so in a sentence.
  }
  return 0;
}
