// Captures the Python frames of a thread at its sample by perf. The kernel copies registers and stack into
// a ring; the interpreter's frames lie elsewhere, and change as soon as the thread runs on. So it must
// not: a thread of ours is bound to each CPU, and each sample of that CPU's ring wakes it. It is woken
// inside the interrupt that takes the sample, and as it runs rarely, and asks for a short slice, the
// scheduler mostly gives it the CPU at once. While it reads, the sampled thread waits for its turn, in the
// state of the sample.
//
// A capture counts only if all of this is proven:
//
//   - In the ring of the CPU, right behind the sample, is the record that the thread was pushed off this
//     CPU (PERF_RECORD_MISC_SWITCH_OUT_PREEMPT), at most kAtOnce after the sample. If it was in a system
//     call, it may also have begun to wait there.
//   - The stack in memory has the bytes of the sample's copy, but for what a system call may have written.
//     A thread that has run on between the sample and the switch leaves others. (One in fifty does run on
//     for some microseconds. If it has written nothing to its stack, it was in the eval loop all that time,
//     and the frames are those of the end of it.)
//   - No ring has a record that the thread came to a CPU again before the last byte was read. It is
//     written before the thread runs, so who looks afterwards sees it (ran_again()).
//
// Nothing is stopped or written in the target, and if we are killed, the thread just runs on.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/file_descriptor.h"
#include "base/time.h"
#include "sampler/perf/perf_events.h"
#include "sampler/process/python_capture.h"

namespace sampan::sampler {

struct CapturedSample {
  uint64_t position = 0;  // of the sample in its ring
  pid_t tid = 0;
  MonotonicNs time_ns = 0;       // of the sample
  MonotonicNs end_ns = 0;        // when all was read
  std::vector<std::byte> stack;  // with the red zone, as read_stack() copies it
  CapturedPython python;
};

class SampleCapture {
 public:
  // `events` outlive this, and their samples wake (PerfEvents::Options).
  explicit SampleCapture(PerfEvents& events);
  ~SampleCapture();
  SampleCapture(const SampleCapture&) = delete;
  SampleCapture& operator=(const SampleCapture&) = delete;

  // Readable when the rings fill.
  int fd() const { return ready_.get(); }

  // The Python frames of the process are captured from now on; null: none are.
  void set_python(pid_t pid, std::shared_ptr<const PythonInterpreter> interpreter);

  // The samples that were captured in a ring, in its order. The captures no longer read the ring up to
  // `limit`, its end at this moment.
  struct Claim {
    uint64_t limit = 0;
    std::deque<CapturedSample> samples;
  };
  Claim claim(size_t ring);
  // Samples were not used, and the texts that were captured with them are lost.
  void forget_texts();

 private:
  struct Shared;
  class Worker;

  FileDescriptor ready_;
  std::unique_ptr<Shared> shared_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

// The threads that came to a CPU since the rings were emptied last, by what the rings have now.
class Arrivals {
 public:
  explicit Arrivals(const std::vector<PerfEvents::Ring>& rings);

  // Whether the thread may have run between its sample and the end of the capture.
  bool ran_again(const CapturedSample& sample) const;

 private:
  bool is_unsure_ = false;  // a ring was full: records are missing
  std::unordered_map<pid_t, std::vector<MonotonicNs>> times_;
};

}  // namespace sampan::sampler
