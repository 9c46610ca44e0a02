// The tail of kRows: what is recorded besides samples.
#include "recording/codec.h"
#include "recording/format.h"

namespace sampan::recording {
namespace {

constexpr uint8_t kEarlier = 128;
// The least bytes of a row.
constexpr size_t kAllocationBytes = 7, kFreeBytes = 5, kLockBytes = 5, kLockWaitBytes = 12;

static_assert(wire::kStopReasonCount <= 16);

uint8_t with_kind(uint8_t kind, wire::StopReason stop) {
  return static_cast<uint8_t>(kind * 16 + static_cast<uint8_t>(stop));
}

wire::StopReason stop_reason(ColumnReader* in, unsigned value) {
  if (value >= wire::kStopReasonCount) in->fail();
  return static_cast<wire::StopReason>(value);
}

template <typename Kind>
Kind kind(ColumnReader* in, unsigned value, unsigned kinds) {
  if (value >= kinds) in->fail();
  return static_cast<Kind>(value);
}

void encode_changes(const Recording& rows, ColumnWriter* out) {
  out->uleb(rows.watch_changes.size());
  for (const WatchChange& row : rows.watch_changes) {
    out->uleb(row.process);
    out->uleb(row.time_ns);
    out->u8(static_cast<uint8_t>(row.what));
    out->uleb(row.setting);
  }
}

void decode_changes(ColumnReader* in, Recording* to) {
  for (uint32_t left = in->count(); left > 0 && in->ok(); --left) {
    WatchChange& row = to->watch_changes.emplace_back();
    row.process = in->index(to->processes.size());
    row.time_ns = in->time();
    row.what = kind<Watched>(in, in->u8(), kWatchedCount);
    row.setting = in->uleb();
  }
}

// The columns that allocations and frees have in common.
template <typename Row>
void encode_draws(const std::vector<Row>& rows, ColumnWriter* out) {
  out->uleb(rows.size());
  for (const Row& row : rows) out->uleb(row.thread);
  for (const Row& row : rows) out->ref(row.stack);
  uint64_t time = 0, id = 0;
  for (const Row& row : rows) {
    out->delta(row.time_ns, time);
    time = row.time_ns;
  }
  for (const Row& row : rows) {
    out->delta(row.id, id);
    id = row.id;
  }
}

// The new rows.
template <typename Row>
std::span<Row> decode_draws(ColumnReader* in, size_t row_bytes, const Recording& recording,
                            std::vector<Row>* table) {
  const size_t first = table->size();
  table->resize(first + in->count(row_bytes));
  const std::span<Row> rows = std::span(*table).subspan(first);
  for (Row& row : rows) row.thread = in->index(recording.threads.size());
  for (Row& row : rows) row.stack = in->ref(recording.stacks.size());
  uint64_t time = 0, id = 0;
  for (Row& row : rows) row.time_ns = SessionNs::at(time = in->delta(time));
  for (Row& row : rows) row.id = id = in->delta(id);
  return rows;
}

void encode_allocations(const Recording& rows, ColumnWriter* out) {
  encode_draws(rows.allocations, out);
  for (const Allocation& row : rows.allocations) out->uleb(row.size);
  for (const Allocation& row : rows.allocations) out->uleb(row.mean);
  for (const Allocation& row : rows.allocations) {
    const uint8_t how = with_kind(static_cast<uint8_t>(row.kind), row.stop);
    out->u8(static_cast<uint8_t>(how | (row.earlier ? kEarlier : 0)));
  }
}

void decode_allocations(ColumnReader* in, Recording* to) {
  const std::span<Allocation> rows = decode_draws(in, kAllocationBytes, *to, &to->allocations);
  for (Allocation& row : rows) row.size = in->uleb();
  for (Allocation& row : rows) {
    row.mean = in->uleb();
    if (row.mean == 0) in->fail();
  }
  for (Allocation& row : rows) {
    const uint8_t how = in->u8();
    row.earlier = (how & kEarlier) != 0;
    row.kind = kind<AllocationKind>(in, (how & ~kEarlier) / 16, wire::kAllocationKindCount);
    row.stop = stop_reason(in, how % 16);
  }
}

void encode_frees(const Recording& rows, ColumnWriter* out) {
  encode_draws(rows.frees, out);
  for (const Free& row : rows.frees) out->u8(static_cast<uint8_t>(row.stop));
}

void decode_frees(ColumnReader* in, Recording* to) {
  for (Free& row : decode_draws(in, kFreeBytes, *to, &to->frees)) {
    row.stop = stop_reason(in, in->u8());
  }
}

void encode_locks(const Recording& rows, ColumnWriter* out) {
  out->uleb(rows.locks.size());
  for (const Lock& row : rows.locks) {
    out->uleb(row.process);
    out->uleb(row.address);
    out->ref(row.frame);
    out->ref(row.origin);
    out->u8(static_cast<uint8_t>(row.kind));
  }
}

void decode_locks(ColumnReader* in, Recording* to) {
  for (uint32_t left = in->count(kLockBytes); left > 0 && in->ok(); --left) {
    Lock& row = to->locks.emplace_back();
    row.process = in->index(to->processes.size());
    row.address = in->uleb();
    row.frame = in->ref(to->frames.size());
    row.origin = in->ref(to->frames.size());
    row.kind = kind<LockKind>(in, in->u8(), wire::kLockKindCount);
  }
}

void encode_lock_waits(const Recording& rows, ColumnWriter* out) {
  out->uleb(rows.lock_waits.size());
  uint64_t begin = 0;
  for (const LockWait& row : rows.lock_waits) {
    out->uleb(row.thread);
    out->ref(row.stack);
    out->delta(row.begin_ns, begin);
    begin = row.begin_ns;
    out->uleb(row.duration_ns);
    out->uleb(row.limit_ns);
    out->uleb(row.lock);
    out->u8(with_kind(static_cast<uint8_t>(row.kind), row.stop));
    out->ref(row.holder);
    out->ref(row.holder_stack);
    out->ref(row.waker);
    out->ref(row.waker_stack);
    out->delta(row.woken_ns, row.begin_ns);
  }
}

void decode_lock_waits(ColumnReader* in, Recording* to) {
  const size_t threads = to->threads.size(), stacks = to->stacks.size();
  uint64_t begin = 0;
  for (uint32_t left = in->count(kLockWaitBytes); left > 0 && in->ok(); --left) {
    LockWait& row = to->lock_waits.emplace_back();
    row.thread = in->index(threads);
    row.stack = in->ref(stacks);
    row.begin_ns = SessionNs::at(begin = in->delta(begin));
    row.duration_ns = in->uleb();
    if (row.duration_ns > UINT64_MAX - begin) in->fail();
    row.limit_ns = in->uleb();
    row.lock = in->index(to->locks.size());
    const uint8_t how = in->u8();
    row.kind = kind<LockKind>(in, how / 16, wire::kLockKindCount);
    row.stop = stop_reason(in, how % 16);
    row.holder = in->ref(threads);
    row.holder_stack = in->ref(stacks);
    row.waker = in->ref(threads);
    row.waker_stack = in->ref(stacks);
    row.woken_ns = SessionNs::at(in->delta(begin));
  }
}

}  // namespace

bool has_watch_rows(const Recording& rows) {
  return !rows.watch_changes.empty() || !rows.allocations.empty() || !rows.frees.empty() ||
         !rows.locks.empty() || !rows.lock_waits.empty();
}

void encode_watch_rows(const Recording& rows, uint64_t locks_before, ColumnWriter* out) {
  out->uleb(locks_before);
  encode_changes(rows, out);
  encode_allocations(rows, out);
  encode_frees(rows, out);
  encode_locks(rows, out);
  encode_lock_waits(rows, out);
}

void decode_watch_rows(ColumnReader* in, uint64_t* lost_rows, Recording* to) {
  const uint64_t locks_before = in->uleb();
  if (!in->ok() || !fill_gap(locks_before, lost_rows, Lock{}, &to->locks)) in->fail();
  for (const auto decode :
       {decode_changes, decode_allocations, decode_frees, decode_locks, decode_lock_waits}) {
    if (in->ok()) decode(in, to);
  }
}

}  // namespace sampan::recording
