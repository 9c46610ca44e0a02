// The tasks of event loops as Chrome trace events: when samples saw which of them on a thread.
//
// - Asynchronous events (ph b, e), with an id for each thread and name, so viewers show a line for
//   each name, in the thread's process.
// - Samples of one task that follow each other are one event.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "profile/view.h"

namespace sampan::exporters {

class TraceTasks {
 public:
  // The longest that fit into `max_size` bytes.
  TraceTasks(const profile::View& view, uint64_t max_size);

  void write(const std::function<void(std::string_view)>& event) const;
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  struct Run {
    SessionNs begin_ns, end_ns;
    uint32_t thread, label;
    uint64_t samples;
  };
  void find_runs();
  void drop_shortest(uint64_t max_size);

  const profile::View& view_;
  std::vector<std::string> labels_;  // as JSON
  std::vector<Run> runs_;            // by their ends
  std::vector<std::string> notes_;
};

}  // namespace sampan::exporters
