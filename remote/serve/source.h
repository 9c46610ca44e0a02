// What is served: a process during its capture, or a recording.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "recording/reader.h"
#include "remote/live/capture.h"

namespace sampan::serve {

// CPU seconds.
struct Cost {
  double recorder = 0;
  double target = 0;  // since its capture began, as accounted by the kernel
};

// Members may be called from any thread.
class Source {
 public:
  virtual ~Source() = default;

  // Everything recorded from `from_ns` to `to_ns` so far, as a self-contained recording. Throws
  // Error.
  virtual recording::Recording read(SessionNs from_ns, SessionNs to_ns) = 0;
  // The end of the recorded time.
  virtual SessionNs now_ns() = 0;
  // Whether recording goes on, so that a request can wait for more.
  virtual bool is_live() const = 0;
  // Zeros if unknown.
  virtual Cost cost() { return {}; }
};

// One capture, shared by all clients.
class LiveSource : public Source {
 public:
  // `target`: the process, if it was running before its capture.
  LiveSource(const live::CaptureOptions& options, std::optional<pid_t> target);

  recording::Recording read(SessionNs from_ns, SessionNs to_ns) override;
  SessionNs now_ns() override;
  bool is_live() const override { return true; }
  Cost cost() override;

  const std::string& directory() const { return capture_.directory(); }  // of the recording

  // These two only from the thread that constructed it.
  bool over();
  int finish();

 private:
  struct CpuReading {
    MonotonicNs time_ns;
    CpuNs cpu_ns;  // of the target, since it started
  };
  CpuReading read_cpu() const;
  void estimate_cpu_at_begin();
  uint64_t target_cpu_ns(const recording::Recording& recording);

  std::mutex mutex_;
  std::optional<pid_t> target_;
  CpuReading before_;  // before sampling began; its CPU time is adjusted to when it began
  std::map<pid_t, uint64_t> cpu_ns_;  // of all processes, as far as known
  live::Capture capture_;
};

class RecordedSource : public Source {
 public:
  // `path`: a file. Throws Error if it cannot be read.
  explicit RecordedSource(std::string path);

  recording::Recording read(SessionNs from_ns, SessionNs to_ns) override;
  SessionNs now_ns() override { return end_ns_; }
  bool is_live() const override { return false; }

 private:
  std::string path_;
  SessionNs end_ns_ = 0;
};

}  // namespace sampan::serve
