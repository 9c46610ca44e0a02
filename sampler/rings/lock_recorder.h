// Turns what a process says of its waits for locks into rows of the recording: each wait gets the thread that held the
// lock when it began, and the thread that ended it.
//
// A wait names the first and the last release of its lock meanwhile. They are in the rings of other threads, and may be
// read later. So the wait is kept until they are there, for a second at most. Not every release of a lock that is
// released all the time is recorded: then the nearest one between the two counts. Everything here was said by a program
// that may be hostile: memory is bounded.
//
// Errors: throws Error when the recording cannot be written.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/time.h"
#include "recording/writer.h"
#include "sampler/recorder/stack_recorder.h"
#include "sampler/rings/record_decoder.h"

namespace sampan::sampler {

class LockRecorder {
 public:
  struct Process {
    uint32_t row;
    SessionClock clock;
  };
  LockRecorder(recording::Writer& writer, StackRecorder& stacks, const Process& process)
      : writer_(writer), stacks_(stacks), process_(process) {}

  // Where a thread was: its row and its stack's.
  struct Place {
    uint32_t thread = recording::kNone;
    uint32_t stack = recording::kNone;
  };
  void add(const LockOriginRecord& origin);
  void add(const LockWaitRecord& wait, const Place& place);
  void add(const ReleaseRecord& release, const Place& place);

  // The rings have been read: writes the waits of which the releases are known, or that have waited for long.
  void end_round(MonotonicNs now_ns);
  // The segment of the recording ends, or the process: nothing waits any more, and rows of stacks become invalid.
  void end_segment();

  // Waits that were left out because there were too many at once, or too many different locks.
  uint64_t lost() const { return lost_; }

 private:
  struct Release {
    MonotonicNs time_ns;
    Place place;
  };
  struct Waiting {
    LockWaitRecord record;
    Place place;
    uint32_t lock;             // its row
    MonotonicNs since_ns = 0;  // of the first round that did not complete it; 0: none yet
  };
  struct KnownLock {
    uint32_t row;
    uint64_t origin;  // AVMA; 0: not known
  };
  using ReleaseKey = std::pair<uint64_t, uint64_t>;  // the lock's AVMA, the number
  using LockKey = std::pair<uint64_t, wire::LockKind>;

  std::optional<uint32_t> lock_row(const LockWaitRecord& wait);
  const Release* first_release(const LockWaitRecord& wait) const;
  const Release* last_release(const LockWaitRecord& wait) const;
  bool is_complete(const LockWaitRecord& wait) const;
  void write(const Waiting& waiting);

  recording::Writer& writer_;
  StackRecorder& stacks_;
  Process process_;
  std::vector<Waiting> waiting_;
  std::map<ReleaseKey, Release> releases_;
  std::deque<ReleaseKey> releases_by_age_;
  std::map<uint64_t, uint64_t> origins_;  // by the lock's AVMA
  std::map<LockKey, KnownLock> locks_;
  uint64_t lost_ = 0;
};

}  // namespace sampan::sampler
