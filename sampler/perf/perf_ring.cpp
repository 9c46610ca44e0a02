#include "sampler/perf/perf_ring.h"

#include <cstring>
#include <iterator>

#include "base/byte_cursor.h"

namespace sampan::sampler {
namespace {

constexpr size_t kIdentitySize = 16;  // u32 pid, u32 tid, u64 time

struct Record {
  perf_event_header header;
  ByteCursor body;
};

std::optional<Record> open(PerfBytes record) {
  ByteCursor cursor(record);
  const auto header = cursor.fixed<perf_event_header>();
  if (!cursor.ok() || header.size != record.size()) return std::nullopt;
  return Record{header, cursor};
}

void read_stack(ByteCursor& body, PerfSample& sample) {
  const uint64_t size = body.u64();
  if (size == 0) return;
  const std::span<const uint8_t> copied = body.take(size);
  const uint64_t valid = body.u64();  // what could be copied of it
  if (!body.ok() || valid > copied.size()) return;
  sample.stack = std::as_bytes(copied.first(valid));
  sample.larger = valid == copied.size();
}

}  // namespace

uint64_t PerfRing::head() const {
  return __atomic_load_n(&control_->data_head, __ATOMIC_ACQUIRE);
}

PerfBytes PerfRing::peek(uint64_t limit) {
  if (!current_.empty() || limit == position_) return current_;
  current_ = at(position_, limit, wrapped_);
  if (current_.empty()) {
    ++corrupt_;
    release(limit);
  }
  return current_;
}

PerfBytes PerfRing::at(uint64_t position, uint64_t limit, std::vector<uint8_t>& wrapped) const {
  const uint64_t available = limit - position;
  const size_t offset = position & (data_.size() - 1);
  perf_event_header header{};
  // Records are 8-byte aligned, so a header is never split.
  if (available <= data_.size() && available >= sizeof header && offset % sizeof header == 0) {
    std::memcpy(&header, data_.data() + offset, sizeof header);
  }
  if (header.size < sizeof header || header.size % sizeof header != 0 || header.size > available) {
    return {};
  }
  const size_t to_end = data_.size() - offset;
  if (header.size <= to_end) return data_.subspan(offset, header.size);
  wrapped.resize(header.size);
  std::memcpy(wrapped.data(), data_.data() + offset, to_end);
  std::memcpy(wrapped.data() + to_end, data_.data(), header.size - to_end);
  return wrapped;
}

void PerfRing::pop() {
  release(position_ + current_.size());
  current_ = {};
}

void PerfRing::release(uint64_t position) {
  position_ = position;
  __atomic_store_n(&control_->data_tail, position, __ATOMIC_RELEASE);
}

std::optional<PerfIdentity> identify(PerfBytes record) {
  const std::optional<Record> opened = open(record);
  if (!opened || opened->body.remaining() < kIdentitySize) return std::nullopt;
  ByteCursor cursor = opened->body;
  if (opened->header.type != PERF_RECORD_SAMPLE) cursor.skip(cursor.remaining() - kIdentitySize);
  PerfIdentity identity{};
  identity.type = opened->header.type;
  identity.pid = static_cast<int32_t>(cursor.u32());
  identity.tid = static_cast<int32_t>(cursor.u32());
  identity.time_ns = MonotonicNs::at(cursor.u64());
  return identity;
}

std::optional<PerfSample> decode_perf_sample(PerfBytes record, bool with_value) {
  std::optional<Record> opened = open(record);
  if (!opened) return std::nullopt;
  ByteCursor& body = opened->body;
  body.skip(kIdentitySize);
  PerfSample sample{};
  sample.in_kernel =
      (opened->header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
  if (with_value) sample.value = body.u64();
  const uint64_t abi = body.u64();
  if (abi == PERF_SAMPLE_REGS_ABI_64) {
    uint64_t values[64] = {};
    for (unsigned number = 0; number < std::size(values); ++number) {
      if ((kPerfRegisters >> number & 1) != 0) values[number] = body.u64();
    }
    for (unsigned i = 0; i < unwind::kRegisterCount; ++i) {
      sample.registers.value[i] = values[unwind::kPerfNumbers[i]];
    }
    read_stack(body, sample);
    sample.user = true;
  }
  if (!body.ok()) return std::nullopt;
  return sample;
}

std::optional<PerfTask> decode_perf_task(PerfBytes record) {
  std::optional<Record> opened = open(record);
  if (!opened) return std::nullopt;
  ByteCursor& body = opened->body;
  PerfTask task{};
  for (int32_t* field : {&task.pid, &task.parent_pid, &task.tid, &task.parent_tid}) {
    *field = static_cast<int32_t>(body.u32());
  }
  return body.ok() ? std::optional(task) : std::nullopt;
}

std::optional<PerfComm> decode_perf_comm(PerfBytes record) {
  std::optional<Record> opened = open(record);
  if (!opened) return std::nullopt;
  ByteCursor& body = opened->body;
  body.skip(8);  // pid, tid
  if (!body.ok() || body.remaining() < kIdentitySize) return std::nullopt;
  const std::span<const uint8_t> bytes = body.take(body.remaining() - kIdentitySize);
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  return PerfComm{std::string(text, strnlen(text, bytes.size())),
                  (opened->header.misc & PERF_RECORD_MISC_COMM_EXEC) != 0};
}

std::optional<uint64_t> decode_perf_lost(PerfBytes record) {
  std::optional<Record> opened = open(record);
  if (!opened) return std::nullopt;
  opened->body.skip(8);  // the event's id
  const uint64_t lost = opened->body.u64();
  return opened->body.ok() ? std::optional(lost) : std::nullopt;
}

std::optional<PerfSwitch> decode_perf_switch(PerfBytes record) {
  const std::optional<Record> opened = open(record);
  if (!opened || opened->header.type != PERF_RECORD_SWITCH) return std::nullopt;
  const uint16_t misc = opened->header.misc;
  if ((misc & PERF_RECORD_MISC_SWITCH_OUT) == 0) return PerfSwitch::kIn;
  return (misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0 ? PerfSwitch::kPreempted
                                                           : PerfSwitch::kWaits;
}

}  // namespace sampan::sampler
