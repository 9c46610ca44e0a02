#include "profile/locks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/interner.h"
#include "profile/frames.h"
#include "profile/own_functions.h"
#include "profile/shown.h"
#include "profile/statistics.h"

namespace sampan::profile {
namespace {

uint64_t weight_ns(const LockWait& wait) {
  return std::max(wait.duration_ns, wait.limit_ns);
}

// The function's name; "" if it has none.
std::string_view named(const Profile& profile, uint32_t location) {
  if (location == kNone || profile.locations[location].line_count == 0) return "";
  const Line& line = profile.lines[profile.locations[location].first_line];
  const std::string_view name = function_name(profile, line.function);
  return name.starts_with('[') ? "" : name;
}

// What makes waits one row: the variable, else the function that initialised it, else the address.
using LockKey = std::tuple<uint32_t, uint32_t, uint32_t, uint64_t, wire::LockKind>;
LockKey key_of(const Profile& profile, uint32_t index, wire::LockKind kind) {
  const Lock& lock = profile.locks[index];
  if (lock.location != kNone) return {lock.process, lock.location, kNone, 0, kind};
  if (lock.origin != kNone) return {lock.process, kNone, lock.origin, 0, kind};
  return {lock.process, kNone, kNone, lock.address, kind};
}

// Names the last location after its lock, as far as that has a name by now. `functions`: by name.
void name_by(std::map<std::string, uint32_t>* functions, const Wait& wait, Profile* profile) {
  const auto next = static_cast<uint32_t>(profile->functions.size());
  const auto [function, is_new] = functions->try_emplace(wait_name(wait), next);
  if (is_new) profile->functions.push_back({.name = profile->strings.intern(function->first)});
  Location& location = profile->locations.back();
  location.first_line = static_cast<uint32_t>(profile->lines.size());
  location.line_count = 1;
  profile->lines.push_back({.function = function->second});
}

template <typename Stack>
std::vector<BlockedBy> pairs(const View& view, const Stack& stack_of) {
  const Profile& profile = *view.profile;
  OwnFunctions functions(profile);
  std::map<std::tuple<LockKey, uint32_t, uint32_t>, BlockedBy> rows;
  for (const uint32_t index : view.samples) {
    const LockWait& wait = profile.lock_waits[index];
    const uint32_t waiter = functions.of(wait.stack), other = functions.of(stack_of(wait));
    BlockedBy& row = rows[{key_of(profile, wait.lock, wait.kind), waiter, other}];
    row.lock = wait.lock;
    row.waiter = waiter;
    row.holder = other;
    row.sum.add(wait);
  }
  std::vector<BlockedBy> sorted;
  for (const auto& [key, row] : rows) sorted.push_back(row);
  std::ranges::stable_sort(sorted, std::ranges::greater(),
                           [](const BlockedBy& row) { return row.sum.waited_ns; });
  return sorted;
}

}  // namespace

double waits_of(const LockWait& wait) {
  if (wait.duration_ns == 0) return 1;
  return static_cast<double>(weight_ns(wait)) / static_cast<double>(wait.duration_ns);
}

void LockSum::add(const LockWait& wait) {
  const auto weight = static_cast<double>(weight_ns(wait));
  const double probability = weight > 0 ? static_cast<double>(wait.duration_ns) / weight : 1;
  waits += waits_of(wait);
  waited_ns += weight;
  waited_variance += weight * weight * (1 - probability);
  longest_ns = std::max(longest_ns, wait.duration_ns);
  ++draws;
}

double LockSum::waited_error_ns() const {
  return error_95(waited_variance);
}

std::string_view kind_name(wire::LockKind kind) {
  switch (kind) {
    case wire::LockKind::kMutex: return "mutex";
    case wire::LockKind::kReadLock: return "read lock";
    case wire::LockKind::kWriteLock: return "write lock";
    case wire::LockKind::kCondition: return "condition";
    case wire::LockKind::kSemaphore: return "semaphore";
    case wire::LockKind::kBarrier: return "barrier";
    case wire::LockKind::kSpinLock: return "spin lock";
  }
  return "lock";
}

std::string lock_name(const Profile& profile, uint32_t lock) {
  const Lock& row = profile.locks[lock];
  if (const std::string_view variable = named(profile, row.location); !variable.empty()) {
    return std::string(variable);
  }
  const std::string_view origin = named(profile, row.origin);
  return fmt::format("{:#x}{}{}", row.address, origin.empty() ? "" : " of ", origin);
}

void show_locks(Profile* profile, LockSide side) {
  if (!profile->can_show(Shown::kLocks)) {
    throw Error(
        "no waits for locks are in the recording: record with `sampan run --locks` or `sampan "
        "serve --locks -- COMMAND`");
  }
  replace_samples(profile, Shown::kLocks, "");
  profile->session.clock = "wall";
  std::map<std::pair<uint32_t, wire::LockKind>, uint32_t> locations;  // by lock and kind
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> stacks;           // by stack and location
  std::map<std::string, uint32_t> functions;                          // that stand for locks
  for (const LockWait& row : profile->lock_waits) {
    const auto next = static_cast<uint32_t>(profile->locations.size());
    const auto [location, is_new] = locations.try_emplace({row.lock, row.kind}, next);
    if (is_new) {
      profile->locations.push_back({.wait = static_cast<uint32_t>(profile->waits.size())});
      Wait& wait = profile->waits.emplace_back();
      wait.call = kind_name(row.kind);
      wait.object = lock_name(*profile, row.lock);
      wait.lock = row.lock;
      name_by(&functions, profile->waits.back(), profile);
    }
    const bool of_holder = side == LockSide::kHolders;
    const uint32_t prefix = of_holder ? row.holder_stack : row.stack;
    const uint32_t thread = of_holder && row.holder != kNone ? row.holder : row.thread;
    const auto next_stack = static_cast<uint32_t>(profile->stacks.size());
    const auto [stack, is_new_stack] = stacks.try_emplace({prefix, location->second}, next_stack);
    if (is_new_stack) profile->stacks.push_back({prefix, location->second});
    const uint32_t wait = profile->locations[location->second].wait;
    add_sample({row.end_ns(), weight_ns(row), thread, stack->second, wait, false}, row.stop,
               profile);
  }
}

View with_known_holders(const View& view) {
  std::vector<uint32_t> samples;
  std::ranges::copy_if(view.samples, std::back_inserter(samples), [&](uint32_t index) {
    const LockWait& wait = view.profile->lock_waits[index];
    return wait.holder != kNone && wait.holder_stack != kNone;
  });
  return view.part(std::move(samples), view.threads);
}

std::vector<LockRow> lock_table(const View& view) {
  const Profile& profile = *view.profile;
  struct Sums {
    LockRow row;
    std::set<uint64_t> addresses;
    std::set<uint32_t> threads;
  };
  std::map<LockKey, Sums> by_lock;
  for (const uint32_t index : view.samples) {
    const LockWait& wait = profile.lock_waits[index];
    Sums& sums = by_lock[key_of(profile, wait.lock, wait.kind)];
    sums.row.lock = wait.lock;
    sums.row.kind = wait.kind;
    sums.row.sum.add(wait);
    sums.addresses.insert(profile.locks[wait.lock].address);
    sums.threads.insert(wait.thread);
  }
  std::vector<LockRow> rows;
  for (auto& [key, sums] : by_lock) {
    sums.row.locks = sums.addresses.size();
    sums.row.threads = sums.threads.size();
    rows.push_back(sums.row);
  }
  std::ranges::stable_sort(rows, std::ranges::greater(),
                           [](const LockRow& row) { return row.sum.waited_ns; });
  return rows;
}

std::vector<BlockedBy> blocked_by(const View& view) {
  return pairs(view, [](const LockWait& wait) { return wait.holder_stack; });
}
std::vector<BlockedBy> woken_by(const View& view) {
  return pairs(view, [](const LockWait& wait) { return wait.waker_stack; });
}

std::vector<LockSides> lock_sides(const View& view, const std::vector<LockRow>& table) {
  const Profile& profile = *view.profile;
  std::map<LockKey, uint32_t> rows;
  for (const LockRow& row : table) {
    rows.emplace(key_of(profile, row.lock, row.kind), static_cast<uint32_t>(rows.size()));
  }
  OwnFunctions functions(profile);
  std::vector<LockSides> sides;
  sides.reserve(view.samples.size());
  for (const uint32_t index : view.samples) {
    const LockWait& wait = profile.lock_waits[index];
    sides.push_back({rows.at(key_of(profile, wait.lock, wait.kind)), functions.of(wait.stack),
                     functions.of(wait.holder_stack), functions.of(wait.waker_stack)});
  }
  return sides;
}

LockSum lock_total(const View& view) {
  LockSum sum;
  for (const uint32_t index : view.samples) sum.add(view.profile->lock_waits[index]);
  return sum;
}

}  // namespace sampan::profile
