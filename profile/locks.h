// Waits for locks and events, estimated from those that were drawn (Profile::lock_waits).
//
// A wait of d ns is drawn with the probability p = min(1, d / limit). It stands for d / p =
// max(d, limit) ns in 1 / p waits; so sums are unbiased, and the variance of a sum is estimated by the
// sum of w^2 (1 - p) over the weights w of its draws.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "profile/profile.h"
#include "profile/view.h"

namespace sampan::profile {

// Whose threads and stacks the samples of waits have.
enum class LockSide {
  kWaiters,
  kHolders,  // the stack of the release; the waiter's thread and no stack where the holder is not known
};

// The same profile, whose samples are its waits for locks: waiting, with the time that they stand for,
// at the time of their ends. The leaf of a stack is the lock: "[mutex queue_lock]". Throws Error when no
// waits for locks were recorded.
void show_locks(Profile* profile, LockSide side = LockSide::kWaiters);
// The same view without the waits whose holder is not known, as of conditions, which nobody holds.
View with_known_holders(const View& view);

// "mutex", "read lock", "condition"
std::string_view kind_name(wire::LockKind kind);
// What is known of it: the name of its variable, else its address: "queue_lock", "0x7f12ac00 of Pool::Pool".
std::string lock_name(const Profile& profile, uint32_t lock);

// How many waits a draw stands for: 1 / p.
double waits_of(const LockWait& wait);

// A sum over draws.
struct LockSum {
  double waits = 0;
  double waited_ns = 0, waited_variance = 0;
  uint64_t longest_ns = 0;
  uint64_t draws = 0;

  void add(const LockWait& wait);
  double waited_error_ns() const;  // 95 %, as of Estimate (heap.h)
};

// The functions below take a view of locks.

// Locks that one variable holds, or that one function initialised, are one row.
struct LockRow {
  uint32_t lock = kNone;  // one of them
  wire::LockKind kind = wire::LockKind::kMutex;
  uint64_t locks = 0;    // different addresses
  uint64_t threads = 0;  // that waited
  LockSum sum;
};
// Most waited first.
std::vector<LockRow> lock_table(const View& view);

// The function that waited, and the one that held the lock. They are those of own_function(): where the waiter waited,
// where the holder released the lock, where the waker woke it. kNone: not known.
struct BlockedBy {
  uint32_t lock = kNone;                    // one of its row in lock_table()
  uint32_t waiter = kNone, holder = kNone;  // functions
  LockSum sum;
};
std::vector<BlockedBy> blocked_by(const View& view);
// The same for who ended the waits; `holder` is then the waker's function.
std::vector<BlockedBy> woken_by(const View& view);

LockSum lock_total(const View& view);

// What is told of a wait above: its row in lock_table(), and the functions as of blocked_by() and
// woken_by().
struct LockSides {
  uint32_t row = kNone, waiter = kNone, holder = kNone, waker = kNone;

  friend bool operator<(const LockSides& a, const LockSides& b) {
    return std::tie(a.row, a.waiter, a.holder, a.waker) <
           std::tie(b.row, b.waiter, b.holder, b.waker);
  }
};
// By position in view.samples; `table`: lock_table() of the same view.
std::vector<LockSides> lock_sides(const View& view, const std::vector<LockRow>& table);

}  // namespace sampan::profile
