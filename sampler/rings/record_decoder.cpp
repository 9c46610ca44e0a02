#include "sampler/rings/record_decoder.h"

#include <algorithm>

#include "wire/record.h"

namespace sampan::sampler {
namespace {

std::string text(Payload bytes) {
  return {bytes.begin(), std::find(bytes.begin(), bytes.end(), uint8_t{0})};
}

// The record, if the payload was exactly that long.
template <typename Record>
std::optional<Record> whole(const ByteCursor& cursor, Record record) {
  if (!cursor.ok() || !cursor.at_end()) return std::nullopt;
  return record;
}

}  // namespace

std::optional<ThreadStartRecord> decode_thread_start(Payload payload) {
  ByteCursor cursor(payload);
  ThreadStartRecord record{};
  record.tid = cursor.fixed<int32_t>();
  record.time_ns = MonotonicNs::at(cursor.u64());
  record.cpu_ns = CpuNs::at(cursor.u64());
  record.name = text(cursor.take(wire::kThreadNameSize));
  if (record.tid <= 0) return std::nullopt;
  return whole(cursor, std::move(record));
}

std::optional<ThreadEndRecord> decode_thread_end(Payload payload) {
  ByteCursor cursor(payload);
  ThreadEndRecord record{};
  record.time_ns = MonotonicNs::at(cursor.u64());
  record.cpu_ns = CpuNs::at(cursor.u64());
  record.left_out_ns = cursor.u64();
  return whole(cursor, record);
}

std::optional<ModuleLoadRecord> decode_module_load(Payload payload) {
  ByteCursor cursor(payload);
  ModuleLoadRecord record{};
  record.time_ns = MonotonicNs::at(cursor.u64());
  record.bias = cursor.u64();
  record.start_avma = Avma::at(cursor.u64());
  record.end_avma = Avma::at(cursor.u64());
  const Payload build_id = cursor.take(cursor.u8());
  record.build_id.assign(build_id.begin(), build_id.end());
  if (!cursor.ok() || cursor.remaining() > wire::kMaxPath) return std::nullopt;
  record.path = text(cursor.take(cursor.remaining()));
  if (record.start_avma >= record.end_avma) return std::nullopt;
  return record;
}

std::optional<ModuleUnloadRecord> decode_module_unload(Payload payload) {
  ByteCursor cursor(payload);
  ModuleUnloadRecord record{};
  record.time_ns = MonotonicNs::at(cursor.u64());
  record.bias = cursor.u64();
  record.start_avma = Avma::at(cursor.u64());
  return whole(cursor, record);
}

std::optional<ThreadNameRecord> decode_thread_name(Payload payload) {
  ByteCursor cursor(payload);
  ThreadNameRecord record{};
  record.time_ns = MonotonicNs::at(cursor.u64());
  record.tid = cursor.fixed<int32_t>();
  record.name = text(cursor.take(wire::kLongNameSize));
  return whole(cursor, std::move(record));
}

std::optional<ThreadCpuRecord> decode_thread_cpu(Payload payload) {
  ByteCursor cursor(payload);
  ThreadCpuRecord record{};
  record.time_ns = MonotonicNs::at(cursor.u64());
  record.tid = cursor.fixed<int32_t>();
  record.cpu_ns = CpuNs::at(cursor.u64());
  return whole(cursor, record);
}

std::optional<ExitRecord> decode_exit(Payload payload) {
  ByteCursor cursor(payload);
  ExitRecord record{};
  record.time_ns = MonotonicNs::at(cursor.u64());
  record.status = cursor.fixed<int32_t>();
  return whole(cursor, record);
}

std::optional<LockOriginRecord> decode_lock_origin(Payload payload) {
  ByteCursor cursor(payload);
  LockOriginRecord record{};
  record.time_ns = MonotonicNs::at(cursor.u64());
  record.lock = Avma::at(cursor.u64());
  const uint8_t kind = cursor.u8();
  record.caller = Avma::at(cursor.u64());
  if (kind >= wire::kLockKindCount) return std::nullopt;
  record.kind = static_cast<wire::LockKind>(kind);
  return whole(cursor, record);
}

std::optional<SampleRecord> SampleDecoder::decode(Payload payload) {
  ByteCursor cursor(payload);
  SampleRecord record{};
  record.time_ns = MonotonicNs::at(cursor.u64());
  record.cpu_ns = CpuNs::at(cursor.u64());
  record.ticks = cursor.u16();
  const uint8_t stop = cursor.u8();
  const uint8_t flags = cursor.u8();
  if ((flags & wire::kSampleAfterGap) != 0) record.left_out_ns = cursor.u64();
  if ((flags & wire::kSampleInStep) != 0) {
    const uint8_t kind = cursor.u8();
    record.step = {static_cast<wire::StepKind>(kind), cursor.u8(), cursor.u64()};
    known_ = kind < wire::kStepKindCount && record.step.task <= wire::kTaskNumbers;
    if (!known_) return std::nullopt;
  }
  record.context = decode_context(cursor, flags);
  known_ = cursor.ok() && stop < wire::kStopReasonCount && decode_stack(cursor);
  if (!known_) return std::nullopt;
  record.stop = static_cast<wire::StopReason>(stop);
  return record;
}

std::optional<AllocationRecord> SampleDecoder::decode_allocation(Payload payload) {
  ByteCursor cursor(payload);
  AllocationRecord record{};
  record.time_ns = MonotonicNs::at(cursor.u64());
  record.id = cursor.u64();
  record.size = cursor.u64();
  record.mean = cursor.u64();
  const uint8_t kind = cursor.u8();
  if (!decode_stop_and_stack(cursor, &record.stop)) return std::nullopt;
  if (record.mean == 0 || kind >= wire::kAllocationKindCount) return std::nullopt;
  record.kind = static_cast<wire::AllocationKind>(kind);
  return record;
}

std::optional<FreeRecord> SampleDecoder::decode_free(Payload payload) {
  ByteCursor cursor(payload);
  FreeRecord record{};
  record.time_ns = MonotonicNs::at(cursor.u64());
  record.id = cursor.u64();
  if (!decode_stop_and_stack(cursor, &record.stop)) return std::nullopt;
  return record;
}

std::optional<LockWaitRecord> SampleDecoder::decode_lock_wait(Payload payload) {
  ByteCursor cursor(payload);
  LockWaitRecord record{};
  record.begin_ns = MonotonicNs::at(cursor.u64());
  record.end_ns = MonotonicNs::at(cursor.u64());
  record.limit_ns = cursor.u64();
  record.lock = Avma::at(cursor.u64());
  const uint8_t kind = cursor.u8();
  record.first = cursor.u64();
  record.last = cursor.u64();
  if (!decode_stop_and_stack(cursor, &record.stop) || kind >= wire::kLockKindCount ||
      record.limit_ns == 0 || record.end_ns < record.begin_ns || record.last < record.first) {
    return std::nullopt;
  }
  record.kind = static_cast<wire::LockKind>(kind);
  return record;
}

std::optional<ReleaseRecord> SampleDecoder::decode_release(Payload payload) {
  ByteCursor cursor(payload);
  ReleaseRecord record{};
  record.time_ns = MonotonicNs::at(cursor.u64());
  record.number = cursor.u64();
  record.lock = Avma::at(cursor.u64());
  if (!decode_stop_and_stack(cursor, &record.stop) || record.number == 0) return std::nullopt;
  return record;
}

bool SampleDecoder::decode_stop_and_stack(ByteCursor& cursor, wire::StopReason* stop) {
  const uint8_t reason = cursor.u8();
  known_ = cursor.ok() && reason < wire::kStopReasonCount && decode_stack(cursor);
  if (known_) *stop = static_cast<wire::StopReason>(reason);
  return known_;
}

wire::TraceContext SampleDecoder::decode_context(ByteCursor& cursor, uint8_t flags) {
  if ((flags & wire::kSampleNewTrace) != 0) {
    const Payload bytes = cursor.take(sizeof context_);
    if (cursor.ok()) std::copy(bytes.begin(), bytes.end(), reinterpret_cast<uint8_t*>(&context_));
  }
  return (flags & wire::kSampleInTrace) != 0 ? context_ : wire::TraceContext{};
}

bool SampleDecoder::decode_stack(ByteCursor& cursor) {
  const uint64_t shared = cursor.uleb();
  const uint64_t fresh = cursor.uleb();
  if (shared > (known_ ? stack_.size() : 0) || fresh > wire::kMaxFrames ||
      shared + fresh > wire::kMaxFrames) {
    return false;
  }
  shared_ = shared;
  stack_.resize(shared + fresh);
  uint64_t frame = 0;
  for (size_t i = stack_.size(); i > shared; --i) {  // the leaf comes first
    frame += static_cast<uint64_t>(cursor.zigzag());
    stack_[i - 1] = frame;
  }
  return cursor.ok() && cursor.at_end();
}

}  // namespace sampan::sampler
