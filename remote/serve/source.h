// The two sources that there are.
#pragma once

#include <sys/types.h>

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "live/capture.h"
#include "serve/source.h"

namespace sampan::serve {

// One capture, shared by all who ask.
class LiveSource : public Source {
 public:
  // `target`: the process, where it ran before it was captured.
  LiveSource(const live::CaptureOptions& options, std::optional<pid_t> target);

  recording::Recording read(uint64_t from_ns, uint64_t to_ns) override;
  uint64_t now_ns() override;
  bool is_live() const override { return true; }
  Cost cost() override;

  const std::string& directory() const { return capture_.directory(); }  // of the recording

  // Both of the thread that has made it, and no other.
  bool over();
  int finish();

 private:
  struct Look {
    uint64_t time_ns;
    uint64_t cpu_ns;  // of the target, since it is there
  };
  Look look() const;
  void begin();
  uint64_t target_cpu_ns(const recording::Recording& recording);

  std::mutex mutex_;
  std::optional<pid_t> target_;
  Look before_;                       // before the sampling began; its CPU, when it did
  std::map<pid_t, uint64_t> cpu_ns_;  // of all processes, as far as it is known
  live::Capture capture_;
};

class RecordedSource : public Source {
 public:
  // A file. Throws Error when it cannot be read.
  explicit RecordedSource(std::string path);

  recording::Recording read(uint64_t from_ns, uint64_t to_ns) override;
  uint64_t now_ns() override { return end_ns_; }
  bool is_live() const override { return false; }

 private:
  std::string path_;
  uint64_t end_ns_ = 0;
};

}  // namespace sampan::serve
