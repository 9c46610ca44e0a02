// Who waits for which lock, so that whoever releases it can say so. A thread that is about to wait asks about the
// lock's address; a thread that releases a lock looks whether somebody asks, takes the number of the release, and
// records it when the lock has been handed on. All who wait for a lock share a question. Conditions, semaphores and
// barriers are asked about in the same way: signals and posts are their releases.
//
// A lock may be released all the time while others wait. Then not every release is recorded: but the first one after a
// waiter has waited for so long that its wait will be recorded, and else one in kApartNs.
//
// A table of fixed size, by the lock's address. Lock-free, for any number of threads and their signal handlers; a
// lock for which there is no room is not asked about. What is waited for is never read or written. Memory of zeros is
// a table without questions: it is wiped in a forked child, where nobody waits.
//
// Freestanding: linked into the target.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "preload/support/machine.h"

namespace sampan::preload {

class LockQuestions {
 public:
  // Counted apart: threads wait for a condition all the time, and the release of a mutex should cost nothing then.
  enum class Group : uint8_t { kLocks, kConditions, kSemaphores, kBarriers };
  static constexpr unsigned kGroups = 4;

  struct Question {
    uint64_t address = 0;   // 0: it could not be asked
    uint64_t releases = 0;  // of this address so far
    uint64_t due_ns = 0;
    uint32_t entry = 0;
    Group group = Group::kLocks;
  };
  // Numbers of the releases since the question, unique in the process and growing for one address; 0: there was none.
  struct Answer {
    uint64_t first = 0;
    uint64_t last = 0;
  };
  struct Release {
    uint64_t number = 0;  // 0: nobody waits
    uint32_t entry = 0;
  };
  static constexpr uint64_t kApartNs = 100'000;

  // Whether anybody waits for something of this group. Before a release; relaxed.
  bool any(Group group) const {
    return open_[static_cast<size_t>(group)].load(std::memory_order_relaxed) != 0;
  }
  // `address`: not 0. `due_ns`: from then on the wait is long enough to be recorded.
  Question ask(uint64_t address, Group group, uint64_t due_ns);
  // The wait is over. `latest_due_ns`: no other wait of now is due later.
  Answer close(const Question& question, uint64_t latest_due_ns);
  // What is at `address` is about to be released.
  Release release(uint64_t address);
  // Whether the release, of about now, is to be recorded. Once for each.
  bool is_recorded(const Release& release, uint64_t now_ns);

 private:
  static constexpr uint32_t kEntries = 4096;
  static constexpr uint32_t kProbes = 8;

  struct Entry {
    WordPair waiting{};              // an address and how many threads wait for it; 0 and 0: free
    std::atomic<uint64_t> releases;  // while somebody waited, of all addresses that it has had
    std::atomic<uint64_t> due_ns;    // the earliest of a wait since which no release was recorded
    std::atomic<uint64_t> recorded_ns;  // when the latest one was
  };

  static uint64_t number(uint32_t entry, uint64_t releases) { return releases * kEntries + entry; }
  static uint32_t first_entry(uint64_t address);
  static bool add(Entry& entry, uint64_t address);

  std::atomic<uint32_t> open_[kGroups]{};
  Entry entries_[kEntries]{};
};

}  // namespace sampan::preload
