// What of a profile is looked at: some threads, some time. Reports and exporters work on a view.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "profile/profile.h"
#include "profile/section_times.h"

namespace sampan::profile {

enum class State { kCpu, kWaiting, kAll };

// Which threads of a process are taken for one.
enum class Merge {
  kNothing,
  kName,  // those of one name
  kPool,  // those whose names differ only in the number at their end: "worker-1", "worker-2"
};

struct Selection {
  std::vector<std::string> threads = {};         // names or tids; empty: all
  std::optional<int32_t> process = {};           // pid
  std::vector<std::string> labels = {};          // of merged recordings; empty: all
  std::optional<double> from_s = {}, to_s = {};  // seconds since the session's start
  std::optional<std::string> section = {};       // only what threads did while they were in it
  State state = State::kAll;  // kCpu and kAll are the same where only CPU was sampled
  Merge merge = Merge::kNothing;
};

struct View {
  const Profile* profile = nullptr;
  State state = State::kAll;

  // Its weights are wall time: it has waiting samples, or would, if any thread had waited.
  bool is_of_wall_time() const { return profile->has_waits() && state != State::kCpu; }

  std::vector<uint32_t> samples;  // indexes into Profile::samples, by time
  std::vector<uint32_t> threads;  // those selected, samples or not: by process, main first,
                                  // then busiest first. Of threads that are merged, the first

  // Of threads that are merged, by thread of the profile: the one that stands for them all. Empty
  // where none are.
  std::vector<uint32_t> merged_into = {};
  // Which of `threads` the samples of a thread count for.
  uint32_t thread_of(uint32_t thread) const {
    return merged_into.empty() ? thread : merged_into[thread];
  }
  // Of one of `threads`: its own, or that of its pool.
  std::string thread_name(uint32_t thread) const;
  Merge merge = Merge::kNothing;

  // The time that was selected, both ends included; of it, if a section was, what lies in that.
  // Views of one selection share it.
  uint64_t from_ns = 0, to_ns = UINT64_MAX;
  std::shared_ptr<const SectionTimes> section = nullptr;
  // Whether some of the time between these was selected, of a thread, or of one of a process.
  bool meets(uint32_t thread, uint64_t begin_ns, uint64_t end_ns) const;
  bool meets_process(uint32_t process, uint64_t begin_ns, uint64_t end_ns) const;

  // The same of these samples and threads only.
  View part(std::vector<uint32_t> some_samples, std::vector<uint32_t> some_threads) const;
};

// What threads of one pool have in common: "worker" of "worker-12", "tokio-runtime-w" of itself,
// "12" of "12".
std::string pool_name(const std::string& name);

// Throws Error for a thread or process that is not in the profile, with the nearest name that is,
// and for waiting samples where none were taken.
View select(const Profile& profile, const Selection& selection = {});
// The same view with each thread for itself again.
View unmerged(const View& view);
// The same view, one thread of it.
View only_thread(const View& view, uint32_t thread);

}  // namespace sampan::profile
