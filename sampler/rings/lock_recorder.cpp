#include "sampler/rings/lock_recorder.h"

#include <algorithm>

namespace sampan::sampler {
namespace {

using wire::LockKind;

constexpr uint64_t kLongestWaitNs = 1'000'000'000;
constexpr size_t kMostWaiting = 65'536;
constexpr size_t kMostReleases = 65'536;
constexpr size_t kMostLocks = 65'536;

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

const LockRecorder::Release* LockRecorder::holder(const LockWaitRecord& wait) const {
  const auto found = releases_.find({wait.lock, wait.asked});
  return wait.asked != 0 && found != releases_.end() ? &found->second : nullptr;
}

// Every arrival at a barrier has a number, and that of the last one is recorded: the highest up to the one that the
// waiter has seen.
const LockRecorder::Release* LockRecorder::waker(const LockWaitRecord& wait) const {
  if (wait.released == 0) return nullptr;
  const auto next = releases_.upper_bound({wait.lock, wait.released});
  if (next == releases_.begin()) return nullptr;
  const auto& [key, release] = *std::prev(next);
  const bool may_be_earlier = wait.kind == LockKind::kBarrier && release.time_ns >= wait.begin_ns;
  const bool is_it = key.first == wait.lock && (key.second == wait.released || may_be_earlier);
  return is_it ? &release : nullptr;
}

bool LockRecorder::is_complete(const LockWaitRecord& wait) const {
  return (wait.asked == 0 || holder(wait) != nullptr) &&
         (wait.released == 0 || waker(wait) != nullptr);
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
  if (const Release* release = holder(record)) {
    row.holder = release->place.thread;
    row.holder_stack = release->place.stack;
  }
  if (const Release* release = waker(record)) {
    row.waker = release->place.thread;
    row.waker_stack = release->place.stack;
    row.woken_ns = process_.clock.at(release->time_ns);
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
