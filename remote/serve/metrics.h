// Metrics of a capture in Prometheus' text format, version 0.0.4. Counters only grow, even if the
// begin of a capture was deleted: each collection adds what happened since the last.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "base/time.h"
#include "profile/heap.h"
#include "profile/locks.h"
#include "remote/serve/source.h"
#include "wire/loss.h"

namespace sampan::serve {

class Metrics {
 public:
  // All metrics up to now.
  std::string collect(Source& source);

 private:
  struct Thread {
    uint64_t cpu_ns = 0, waiting_ns = 0, runnable_ns = 0;
  };
  struct Spans {
    uint64_t count = 0, ns = 0;
  };
  struct Heap {
    profile::Estimate live, allocated;
  };

  void add(const recording::Recording& recording, SessionNs from_ns, SessionNs to_ns);
  void add_losses(const recording::Recording& recording);
  void add_watched(recording::Recording recording, SessionNs to_ns);
  std::string text(const Cost& cost) const;

  std::mutex mutex_;
  SessionNs seen_ns_ = 0;
  uint32_t rate_hz_ = 0, asked_hz_ = 0;
  uint64_t in_target_ns_ = 0;
  size_t threads_now_ = 0;
  uint64_t samples_cpu_ = 0, samples_waiting_ = 0, incomplete_stacks_ = 0;
  std::map<std::pair<std::string, std::string>, Thread> threads_;  // by process and name
  std::map<std::string, Spans> spans_;
  // By process name. Empty until they are recorded.
  std::map<std::string, Heap> heaps_;
  std::map<std::string, profile::LockSum> locks_;
  // By pid and start of the process. The counters of a process only grow.
  std::map<std::pair<int32_t, uint64_t>, std::map<wire::Loss, uint64_t>> losses_;
};

// Escapes a label's value, which is to be in quotes.
std::string escape_label(std::string_view text);

}  // namespace sampan::serve
