// A source with the recording that a test gives it.
#pragma once

#include <utility>

#include "recording/segments.h"
#include "remote/serve/source.h"

namespace sampan::serve {

class FakeSource : public Source {
 public:
  recording::Recording read(SessionNs from_ns, SessionNs to_ns) override {
    return recording::cut(recording, from_ns, to_ns);
  }
  SessionNs now_ns() override { return now; }
  bool is_live() const override { return live; }
  Cost cost() override { return spent; }

  recording::Recording recording;
  SessionNs now = 0;
  bool live = true;
  Cost spent;
};

// One process, "/bin/program" with pid 7, and threads with these names.
inline recording::Recording program(const std::vector<std::string>& threads) {
  recording::Recording recording;
  recording.processes.push_back({.pid = 7, .parent_pid = 1, .start_ns = 0, .name = "/bin/program"});
  for (const std::string& name : threads) {
    const auto tid = static_cast<int32_t>(7 + recording.threads.size());
    recording.threads.push_back({.process = 0, .tid = tid, .start_ns = 0, .name = name});
  }
  return recording;
}

}  // namespace sampan::serve
