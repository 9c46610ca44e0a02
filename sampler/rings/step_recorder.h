// Turns what the samples of one thread say of its event loop (wire::StepKind) into rows of the
// recording: consecutive samples in the same task and step are one row.
//
// Errors: throws Error when the recording cannot be written.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/time.h"
#include "recording/writer.h"
#include "sampler/recorder/python_code.h"
#include "sampler/recorder/recorded_process.h"
#include "wire/record.h"

namespace sampan::sampler {

class StepRecorder {
 public:
  void announce(PythonTaskRecord record) { tasks_[record.number - 1] = std::move(record.task); }

  // `thread`: its row.
  void add(recording::Writer& writer, uint32_t thread, const SampleRecord& sample,
           SessionNs time_ns);
  // Writes the row that is open: the thread or the file ends.
  void close(recording::Writer& writer);

 private:
  struct Open {
    recording::Step row;
    uint64_t step;  // as the shim calls it
    PythonTask task;
  };

  std::array<PythonTask, wire::kTaskNumbers> tasks_;
  std::optional<Open> open_;
  uint64_t last_id_ = 0;    // of the latest row
  uint64_t last_step_ = 0;  // the same step as the shim calls it; 0: not known, or it has ended
};

}  // namespace sampan::sampler
