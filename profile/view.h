// A part of a profile: some threads, some time. Reports and exporters work on views.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "profile/profile.h"

namespace sampan::profile {

class SectionTimes;  // sections.h

enum class State { kCpu, kWaiting, kAll };

// Which threads of a process are shown as one.
enum class Merge {
  kNothing,
  kName,  // those of one name
  kPool,  // those whose names differ only in the number at their end: "worker-1", "worker-2"
};

// Which blocks a view of the heap has (heap.h).
enum class HeapPart {
  kLive,       // those that live at the end of the selected time
  kAllocated,  // those that were allocated in the selected time, whether they live or not
};

struct Selection {
  std::vector<std::string> threads = {};         // names or tids; empty: all
  std::optional<int32_t> process = {};           // pid
  std::vector<std::string> labels = {};          // of merged recordings; empty: all
  std::optional<double> from_s = {}, to_s = {};  // seconds since the session's start
  std::optional<std::string> section = {};       // only what threads did while they were in it
  std::optional<std::string> trace =
      {};                     // only samples of the request with this trace id, or its begin
  State state = State::kAll;  // kCpu and kAll are the same where only CPU was sampled
  Merge merge = Merge::kNothing;
  HeapPart heap = HeapPart::kLive;
};

struct View {
  const Profile* profile = nullptr;
  State state = State::kAll;

  // Whether its weights are wall time: waiting was sampled, whether or not any thread waited.
  bool is_of_wall_time() const { return profile->has_waits() && state != State::kCpu; }

  std::vector<uint32_t> samples;  // indexes into Profile::samples, by time
  std::vector<uint32_t> threads;  // those selected, with or without samples: by process, main
                                  // first, then busiest first; of merged ones only the first

  // By thread of the profile, the thread that represents it. Empty when no threads are merged.
  std::vector<uint32_t> merged_into = {};
  // The one of `threads` that the samples of a thread count for.
  uint32_t thread_of(uint32_t thread) const {
    return merged_into.empty() ? thread : merged_into[thread];
  }
  // The name of one of `threads`, or of its pool.
  std::string thread_name(uint32_t thread) const;
  Merge merge = Merge::kNothing;

  // The selected time, both ends included, and the selected section in it, if any. Views of one
  // selection share the section.
  SessionNs from_ns = 0, to_ns = UINT64_MAX;
  std::shared_ptr<const SectionTimes> section = nullptr;
  HeapPart heap = HeapPart::kLive;  // matters only where the heap is shown
  bool is_of_trace = false;         // only samples of one trace id

  // Whether some time in between was selected, for a thread or for any thread of a process.
  bool meets(uint32_t thread, SessionNs begin_ns, SessionNs end_ns) const;
  bool meets_process(uint32_t process, SessionNs begin_ns, SessionNs end_ns) const;

  // The same view with only these samples and threads.
  View part(std::vector<uint32_t> some_samples, std::vector<uint32_t> some_threads) const;
};

// The part of the name that threads of a pool share: "worker" of "worker-12"; names without such a
// part stay: "tokio-runtime-w", "12".
std::string pool_name(const std::string& name);

// Throws Error with the nearest name for a thread or process that is not in the profile, and for
// waiting samples when none were taken.
View select(const Profile& profile, const Selection& selection = {});
// The same view without merged threads.
View unmerged(const View& view);
// The same view, one thread of it.
View only_thread(const View& view, uint32_t thread);

}  // namespace sampan::profile
