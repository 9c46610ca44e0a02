// A source that has what a test gives it.
#pragma once

#include <utility>

#include "serve/source.h"

namespace sampan::serve {

class FakeSource : public Source {
 public:
  recording::Recording read(uint64_t from_ns, uint64_t to_ns) override {
    recording::Recording part = recording;
    std::erase_if(part.samples, [&](const recording::Sample& sample) {
      return sample.time_ns < from_ns || sample.time_ns >= to_ns;
    });
    return part;
  }
  uint64_t now_ns() override { return now; }
  bool is_live() const override { return live; }
  Cost cost() override { return spent; }

  recording::Recording recording;
  uint64_t now = 0;
  bool live = true;
  Cost spent;
};

// One process, "/bin/program" of pid 7, with threads of these names.
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
