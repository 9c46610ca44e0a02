// What samples say that a thread worked for, as Chrome trace events: tasks of event loops, and requests
// across services.
//
// - Asynchronous events (ph b, e), with an id for each thread and label, so viewers show a line for
//   each, in the thread's process.
// - Samples with one label that follow each other are one event.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "profile/view.h"

namespace sampan::exporters {

struct TraceLabels {
  const char* category = "";
  const char* noun = "";                  // "tasks"
  std::vector<std::string> names = {};    // as JSON; the first: of samples without one
  std::vector<std::string> args = {};     // members of a JSON object, by name
  std::vector<uint32_t> of_samples = {};  // by position in view.samples; empty: all 0
};
TraceLabels task_labels_of(const profile::View& view);
TraceLabels request_labels_of(const profile::View& view);

class TraceTasks {
 public:
  // The longest that fit into `max_size` bytes.
  TraceTasks(const profile::View& view, TraceLabels labels, uint64_t max_size);

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
  const TraceLabels labels_;
  std::vector<Run> runs_;  // by their ends
  std::vector<std::string> notes_;
};

}  // namespace sampan::exporters
