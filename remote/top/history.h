// What top has seen: the last seconds, and everything since it began.
//
// A capture is read slice by slice. Each slice is added to the tables of one profile that lives as
// long as top does, and its samples are added up by thread and stack. So what a refresh costs
// depends on what is new and on how many different stacks there are, not on how long the capture
// has been going on. Times are nanoseconds since the session's start.
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

#include "profile/profile.h"
#include "profile/weights.h"

namespace sampan::top {

enum class Scope {
  kWindow,  // the last seconds
  kStart,   // since top began
};

// What a thread did at its latest sample.
struct Doing {
  uint64_t time_ns = 0;
  uint32_t stack = profile::kNone;
  uint32_t wait = profile::kNone;  // row of History::profile(); kNone: it was on CPU
};

class History {
 public:
  // Finds names for all locations of a profile that have none, as symbolizer::symbolize() does.
  using Namer = std::function<void(profile::Profile&)>;

  // Beyond so many stacks the lightest of those since the start become one that is not known.
  static constexpr size_t kMostStacks = 400'000;

  explicit History(uint64_t window_ns, size_t most_stacks = kMostStacks);

  // The samples of `slice` lie between these times. Slices come in order.
  void add(const profile::Profile& slice, uint64_t from_ns, uint64_t to_ns);

  bool lacks_names() const { return !unnamed_.empty(); }
  // Names what has none yet. Until then a function is called by its module, "[libc.so.6]".
  void find_names(const Namer& namer);

  // Has no samples.
  const profile::Profile& profile() const { return profile_; }

  // What follows stays as it is, whatever is added, until thawed.
  void freeze();
  void thaw() { frozen_.reset(); }

  // By thread and stack, one row of both, by thread.
  std::vector<profile::WeightedStack> weights(Scope scope) const;
  // How much time the slices cover.
  uint64_t span_ns(Scope scope) const;
  uint64_t latest_ns() const;
  uint64_t samples() const;  // since the start
  Doing doing(uint32_t thread) const;

 private:
  using Sums = std::unordered_map<uint64_t, profile::Weight>;  // by thread and stack
  struct Slice {
    uint64_t from_ns, to_ns;
    std::vector<std::pair<uint64_t, profile::Weight>> sums;
  };

  // The answers of a moment; of both scopes where there are two.
  struct Frozen {
    std::vector<profile::WeightedStack> weights[2];
    uint64_t span_ns[2];
    uint64_t latest_ns, samples;
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
  uint32_t function_row(uint32_t name, uint32_t module);
  void enter_lines(const profile::Profile& from, uint32_t location, uint32_t into);
  void name_by_module(uint32_t location);
  void forget_lightest();

  struct Unnamed {
    uint32_t location, thread;
  };

  uint64_t window_ns_;
  size_t most_stacks_;
  profile::Profile profile_;
  std::deque<Slice> slices_;
  Sums since_start_;
  uint64_t covered_ns_ = 0;
  uint64_t samples_ = 0;
  std::vector<Doing> doing_;  // by thread
  std::vector<Unnamed> unnamed_;
  std::optional<Frozen> frozen_;

  // Which row is the same as one of a slice.
  std::map<std::tuple<int32_t, uint64_t, std::string>, uint32_t> processes_;  // pid, start, path
  std::map<std::tuple<uint32_t, int32_t, uint64_t>, uint32_t> threads_;       // process, tid, start
  std::map<std::pair<std::string, std::vector<uint8_t>>, uint32_t> modules_;
  std::map<std::pair<std::string, std::string>, uint32_t> waits_;
  std::map<std::pair<uint32_t, uint64_t>, uint32_t> locations_;  // module, address
  std::map<uint32_t, uint32_t> wait_locations_;
  std::unordered_map<uint64_t, uint32_t> stacks_;                // prefix, location
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> functions_;  // name, module
};

}  // namespace sampan::top
