#include "profile/jit_code.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace sampan::profile {

namespace {

using Place = std::pair<uint32_t, uint32_t>;  // process, frame

Place place_of(const JitName& name) {
  return {name.process, name.frame};
}

bool by_place_and_time(const JitName& a, const JitName& b) {
  return std::tuple(place_of(a), a.from_ns) < std::tuple(place_of(b), b.from_ns);
}

// The last of the names for one place and time counts.
void sort(std::vector<JitName>* names) {
  std::ranges::stable_sort(*names, by_place_and_time);
  const auto same = [](const JitName& a, const JitName& b) {
    return !by_place_and_time(a, b) && !by_place_and_time(b, a);
  };
  const auto kept = std::unique(names->rbegin(), names->rend(), same);
  names->erase(names->begin(), kept.base());
}

// Replaces the stacks of samples by stacks of the functions that ran.
class Namer {
 public:
  explicit Namer(Profile* profile) : profile_(*profile), names_(profile->jit_names) {
    for (const JitName& row : names_) epochs_[row.process].push_back(row.from_ns);
    for (auto& [process, times] : epochs_) {
      std::ranges::sort(times);
      times.erase(std::unique(times.begin(), times.end()), times.end());
    }
    for (uint32_t i = 0; i < profile_.functions.size(); ++i) {
      const Function& row = profile_.functions[i];
      if (row == Function{row.name}) functions_.try_emplace(row.name, i);
    }
    find_stacks();
  }

  void run() {
    for (Sample& row : profile_.samples) rename(row.thread, row.time_ns, &row.stack);
    for (Block& row : profile_.blocks) {
      rename(row.thread, row.time_ns, &row.stack);
      rename(row.freeing_thread, row.freed_ns, &row.freeing_stack);
    }
    for (LockWait& row : profile_.lock_waits) {
      rename(row.thread, row.end_ns(), &row.stack);
      rename(row.holder, row.end_ns(), &row.holder_stack);
      rename(row.waker, row.end_ns(), &row.waker_stack);
    }
  }

 private:
  // What determines a new stack: the old one, the process, and the number of changes there so far.
  using Key = std::tuple<uint32_t, uint32_t, uint64_t>;

  void find_stacks() {
    std::set<uint32_t> named;
    for (const JitName& row : names_) named.insert(row.frame);
    has_jit_.resize(profile_.stacks.size());
    for (size_t i = 0; i < has_jit_.size(); ++i) {
      const Stack& stack = profile_.stacks[i];
      const bool is_named =
          stack.location != kNone && named.contains(frame_of(profile_, stack.location));
      has_jit_[i] = is_named || (stack.prefix != kNone && has_jit_[stack.prefix]);
    }
  }

  void rename(uint32_t thread, SessionNs time_ns, uint32_t* stack) {
    if (thread == kNone || *stack >= has_jit_.size() || !has_jit_[*stack]) return;
    *stack = resolve(profile_.threads[thread].process, time_ns, *stack);
  }

  uint32_t resolve(uint32_t process, SessionNs time_ns, uint32_t leaf) {
    const auto epochs = epochs_.find(process);
    uint64_t epoch = 0;
    if (epochs != epochs_.end()) {
      const auto next = std::ranges::upper_bound(epochs->second, time_ns);
      epoch = static_cast<uint64_t>(next - epochs->second.begin());
    }
    std::vector<uint32_t> todo;  // from the leaf
    uint32_t prefix = kNone;
    for (uint32_t stack = leaf; stack != kNone; stack = profile_.stacks[stack].prefix) {
      const auto known = resolved_.find({stack, process, epoch});
      if (known != resolved_.end() || !has_jit_[stack]) {
        prefix = known != resolved_.end() ? known->second : stack;
        break;
      }
      todo.push_back(stack);
    }
    for (; !todo.empty(); todo.pop_back()) {
      prefix = with(todo.back(), prefix, process, time_ns);
      resolved_.try_emplace({todo.back(), process, epoch}, prefix);
    }
    return prefix;
  }

  // The stack with another prefix, and with its function in that process at that time.
  uint32_t with(uint32_t stack, uint32_t prefix, uint32_t process, SessionNs time_ns) {
    const Stack row = profile_.stacks[stack];
    uint32_t location = row.location;
    if (location != kNone && is_jit(profile_.locations[location])) {
      location = variant(location, name_at({process, frame_of(profile_, location)}, time_ns));
    }
    if (prefix == row.prefix && location == row.location) return stack;
    const auto next = static_cast<uint32_t>(profile_.stacks.size());
    const auto [known, is_new] = stacks_.try_emplace({prefix, location}, next);
    if (is_new) profile_.stacks.push_back({prefix, location});
    return known->second;
  }

  // A string; kNone: not known.
  uint32_t name_at(Place place, SessionNs time_ns) const {
    const auto next = std::ranges::upper_bound(
        names_, std::pair(place, time_ns), {},
        [](const JitName& row) { return std::pair(place_of(row), row.from_ns); });
    if (next != names_.begin() && place_of(*std::prev(next)) == place) return std::prev(next)->name;
    return next != names_.end() && place_of(*next) == place ? next->name : kNone;
  }

  // The first name of a location in a sample is its own; other names get copies.
  uint32_t variant(uint32_t location, uint32_t name) {
    const auto [first, is_first] = first_names_.try_emplace(location, name);
    if (first->second == name) {
      if (is_first && name != kNone) enter(location, name);
      return location;
    }
    const uint32_t frame = frame_of(profile_, location);
    const auto next = static_cast<uint32_t>(profile_.locations.size());
    const auto [known, is_new] = copies_.try_emplace({frame, name}, next);
    if (is_new) {
      profile_.locations.push_back(
          {.address = profile_.locations[frame].address, .copy_of = frame});
      if (name != kNone) enter(next, name);
    }
    return known->second;
  }

  void enter(uint32_t index, uint32_t name) {
    const auto next = static_cast<uint32_t>(profile_.functions.size());
    const auto [known, is_new] = functions_.try_emplace(name, next);
    if (is_new) profile_.functions.push_back({.name = name});
    Location& location = profile_.locations[index];
    const bool has_it =
        location.line_count == 1 && profile_.lines[location.first_line].function == known->second;
    if (has_it) return;
    location.first_line = static_cast<uint32_t>(profile_.lines.size());
    location.line_count = 1;
    profile_.lines.push_back({.function = known->second});
  }

  Profile& profile_;
  const std::vector<JitName>& names_;
  std::map<uint32_t, std::vector<SessionNs>> epochs_;  // by process: when a name changes
  std::vector<bool> has_jit_;                          // by stack, as they were
  std::map<Key, uint32_t> resolved_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> stacks_;  // new ones, by prefix and location
  std::unordered_map<uint32_t, uint32_t> first_names_, functions_;
  std::map<Place, uint32_t> copies_;  // by frame and name
};

}  // namespace

void name_jit_code(std::vector<JitName> names, Profile* profile) {
  std::set<Place> places;
  for (const JitName& row : names) places.insert(place_of(row));
  std::erase_if(profile->jit_names,
                [&](const JitName& row) { return places.contains(place_of(row)); });
  std::ranges::copy_if(names, std::back_inserter(profile->jit_names), [&](const JitName& row) {
    return row.process < profile->processes.size() && row.frame < profile->locations.size() &&
           is_jit(profile->locations[row.frame]) && frame_of(*profile, row.frame) == row.frame;
  });
  if (profile->jit_names.empty()) return;
  sort(&profile->jit_names);
  Namer(profile).run();
}

}  // namespace sampan::profile
