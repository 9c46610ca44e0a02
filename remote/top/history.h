// What top has seen: the last seconds, and everything since it started.
//
// A capture is read in slices. Each slice is added to the tables of one profile that lives as long
// as top, and its samples are summed up by thread and stack. So the cost of a refresh depends on
// what is new and on the number of distinct stacks, not on the duration of the capture. Times are
// nanoseconds since the start of the session.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/time.h"
#include "profile/profile.h"
#include "profile/weights.h"

namespace sampan::top {

enum class Scope {
  kWindow,  // the last seconds
  kStart,   // since top started
};

// What a thread did at its latest sample.
struct Doing {
  SessionNs time_ns = 0;
  uint32_t stack = profile::kNone;
  uint32_t wait = profile::kNone;  // row of History::profile(); kNone: on CPU
};

class History {
 public:
  // Finds names for all locations of a profile that have none, as symbolizer::symbolize() does.
  using Namer = std::function<void(profile::Profile&)>;

  // If there are more stacks, the lightest ones since the start are merged into an unknown one.
  static constexpr size_t kMaxStacks = 400'000;

  explicit History(uint64_t window_ns, size_t max_stacks = kMaxStacks);

  // The samples of `slice` are between these times. Slices must come in order.
  void add(const profile::Profile& slice, SessionNs from_ns, SessionNs to_ns);

  bool lacks_names() const { return !unnamed_.empty(); }
  // Looks up missing names. Until then a function is called by its module, "[libc.so.6]".
  void find_names(const Namer& namer);

  // Without samples.
  const profile::Profile& profile() const { return profile_; }

  // Until thaw(), the members below do not change, whatever is added.
  void freeze();
  void thaw() { frozen_.reset(); }

  // By thread and stack, one row for each pair, sorted by thread.
  std::vector<profile::WeightedStack> weights(Scope scope) const;
  // The time that the slices cover.
  uint64_t span_ns(Scope scope) const;
  SessionNs latest_ns() const;
  uint64_t samples() const;  // since the start
  Doing doing(uint32_t thread) const;

 private:
  using Sums = std::unordered_map<uint64_t, profile::Weight>;  // by thread and stack
  struct Slice {
    SessionNs from_ns, to_ns;
    std::vector<std::pair<uint64_t, profile::Weight>> sums;
  };

  // The results at one moment; for both scopes where they differ.
  struct Frozen {
    std::vector<profile::WeightedStack> weights[2];
    uint64_t span_ns[2];
    SessionNs latest_ns;
    uint64_t samples;
    std::vector<Doing> doing;
  };

  std::vector<profile::WeightedStack> current_weights(Scope scope) const;
  uint64_t current_span_ns(Scope scope) const;
  uint32_t process_row(const profile::Process& process);
  void add_threads(const profile::Profile& slice, std::vector<uint32_t>* rows);
  uint32_t module_row(const profile::Module& module);
  uint32_t wait_row(const profile::Wait& wait);
  uint32_t location_row(const profile::Profile& slice, uint32_t location, uint32_t thread);
  uint32_t stack_row(uint32_t prefix, uint32_t location);
  uint32_t function_row(uint32_t name, uint32_t module, uint32_t python_file = 0);
  void enter_lines(const profile::Profile& from, uint32_t location, uint32_t into);
  void name_by_module(uint32_t location);
  void forget_lightest();

  struct Unnamed {
    uint32_t location, thread;
  };

  uint64_t window_ns_;
  size_t max_stacks_;
  profile::Profile profile_;
  std::deque<Slice> slices_;
  Sums since_start_;
  uint64_t covered_ns_ = 0;
  uint64_t samples_ = 0;
  std::vector<Doing> doing_;  // by thread
  std::vector<Unnamed> unnamed_;
  std::optional<Frozen> frozen_;

  // The rows that correspond to those of a slice.
  std::map<std::tuple<int32_t, uint64_t, std::string>, uint32_t> processes_;  // pid, start, path
  std::map<std::tuple<uint32_t, int32_t, uint64_t>, uint32_t> threads_;       // process, tid, start
  std::map<std::pair<std::string, std::vector<uint8_t>>, uint32_t> modules_;
  std::map<std::tuple<std::string, std::string, std::string>, uint32_t> waits_;
  std::map<std::tuple<uint32_t, uint64_t, uint32_t>, uint32_t> locations_;  // module, address, name
  std::map<uint32_t, uint32_t> wait_locations_;
  std::unordered_map<uint64_t, uint32_t> stacks_;                           // prefix, location
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint32_t> functions_;  // name, module, file
};

}  // namespace sampan::top
