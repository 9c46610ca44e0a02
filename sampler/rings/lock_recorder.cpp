#include "sampler/rings/lock_recorder.h"

#include <algorithm>

namespace sampan::sampler {
namespace {

using wire::LockKind;

constexpr uint64_t kLongestWaitNs = 1'000'000'000;
constexpr size_t kMostWaiting = 65'536;
constexpr size_t kMostReleases = 65'536;
constexpr size_t kMostLocks = 65'536;

bool has_holder(LockKind kind) {
  return kind == LockKind::kMutex || kind == LockKind::kReadLock || kind == LockKind::kWriteLock ||
         kind == LockKind::kSpinLock;
}

// A read-write lock is one lock, whoever waits for it.
LockKind kind_of_lock(LockKind kind) {
  return kind == LockKind::kReadLock ? LockKind::kWriteLock : kind;
}

}  // namespace

void LockRecorder::add(const LockOriginRecord& origin) {
  if (origins_.size() < kMostLocks || origins_.contains(origin.lock)) {
    origins_[origin.lock] = origin.caller;
  }
}

void LockRecorder::add(const LockWaitRecord& wait, const Place& place) {
  const std::optional<uint32_t> lock = lock_row(wait);
  if (!lock || waiting_.size() >= kMostWaiting) {
    ++lost_;
    return;
  }
  waiting_.push_back({wait, place, *lock});
}

void LockRecorder::add(const ReleaseRecord& release, const Place& place) {
  const ReleaseKey key(release.lock, release.number);
  const bool is_new = releases_.insert_or_assign(key, Release{release.time_ns, place}).second;
  if (!is_new) return;
  releases_by_age_.push_back(key);
  if (releases_by_age_.size() <= kMostReleases) return;
  releases_.erase(releases_by_age_.front());
  releases_by_age_.pop_front();
}

// A lock that is initialised once more, by other code, is another lock.
std::optional<uint32_t> LockRecorder::lock_row(const LockWaitRecord& wait) {
  const LockKind kind = kind_of_lock(wait.kind);
  const auto known_origin = origins_.find(wait.lock);
  const uint64_t origin = known_origin != origins_.end() ? known_origin->second : 0;
  const auto known = locks_.find({wait.lock, kind});
  if (known != locks_.end() && known->second.origin == origin) return known->second.row;
  if (known == locks_.end() && locks_.size() >= kMostLocks) return std::nullopt;
  recording::Lock row;
  row.process = process_.row;
  row.address = wait.lock;
  row.kind = kind;
  row.frame = stacks_.data_row(wait.lock, wait.begin_ns);
  if (origin != 0) row.origin = stacks_.code_row(Avma::at(origin), wait.begin_ns);
  const uint32_t added = writer_.add(row);
  locks_[{wait.lock, kind}] = {added, origin};
  return added;
}

const LockRecorder::Release* LockRecorder::first_release(const LockWaitRecord& wait) const {
  const auto found = releases_.lower_bound({wait.lock, wait.first});
  if (wait.first == 0 || found == releases_.end() ||
      found->first > ReleaseKey(wait.lock, wait.last) || found->second.time_ns < wait.begin_ns) {
    return nullptr;
  }
  return &found->second;
}

const LockRecorder::Release* LockRecorder::last_release(const LockWaitRecord& wait) const {
  const auto next = releases_.upper_bound({wait.lock, wait.last});
  if (wait.first == 0 || next == releases_.begin()) return nullptr;
  const auto& [key, release] = *std::prev(next);
  const bool is_meanwhile =
      key >= ReleaseKey(wait.lock, wait.first) && release.time_ns >= wait.begin_ns;
  return is_meanwhile ? &release : nullptr;
}

bool LockRecorder::is_complete(const LockWaitRecord& wait) const {
  if (wait.first == 0) return true;
  // Arrivals at a barrier have numbers, too; only the last one is recorded.
  if (wait.kind == LockKind::kBarrier) return last_release(wait) != nullptr;
  return releases_.contains({wait.lock, wait.last}) &&
         (!has_holder(wait.kind) || releases_.contains({wait.lock, wait.first}));
}

void LockRecorder::write(const Waiting& waiting) {
  const LockWaitRecord& record = waiting.record;
  recording::LockWait row;
  row.thread = waiting.place.thread;
  row.stack = waiting.place.stack;
  row.begin_ns = process_.clock.at(record.begin_ns);
  row.duration_ns = record.end_ns - record.begin_ns;
  row.limit_ns = record.limit_ns;
  row.lock = waiting.lock;
  row.kind = record.kind;
  row.stop = record.stop;
  if (const Release* release = first_release(record);
      release != nullptr && has_holder(record.kind)) {
    row.holder = release->place.thread;
    row.holder_stack = release->place.stack;
  }
  if (const Release* release = last_release(record)) {
    row.waker = release->place.thread;
    row.waker_stack = release->place.stack;
    // It has read the clock after its release, when the waiter may already have gone on.
    row.woken_ns = process_.clock.at(std::min(release->time_ns, record.end_ns));
  }
  writer_.add(row);
}

void LockRecorder::end_round(MonotonicNs now_ns) {
  std::erase_if(waiting_, [&](Waiting& waiting) {
    if (waiting.since_ns == 0) waiting.since_ns = now_ns;
    const bool ends = is_complete(waiting.record) || now_ns - waiting.since_ns > kLongestWaitNs;
    if (ends) write(waiting);
    return ends;
  });
}

void LockRecorder::end_segment() {
  for (const Waiting& waiting : waiting_) write(waiting);
  waiting_.clear();
  // A later wait may name them: it knows who it was, but not where.
  for (auto& [key, release] : releases_) release.place.stack = recording::kNone;
}

}  // namespace sampan::sampler
