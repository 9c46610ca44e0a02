// The names of code that one process made at run time and registered with debuggers (gdb_jit.h),
// for its frames that are in no module. Code comes and goes, so names have times: those of the
// looks between which it came or went. If other code took its place in between, the samples of that
// time may be of either, and have no name.
//
// Errors: throws Error when the recording cannot be written.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "base/units.h"
#include "recording/writer.h"
#include "sampler/process/gdb_jit.h"
#include "sampler/recorder/perf_map.h"
#include "sampler/recorder/stack_recorder.h"

namespace sampan::sampler {

class CodeNames {
 public:
  // `process`: the row of the process in the recording.
  CodeNames(recording::Writer& writer, SessionClock clock, pid_t pid, uint32_t process);

  // Names these frames by what has been read. Those that it does not name now get names later.
  void add(const std::vector<StackRecorder::Unknown>& frames);
  // Reads what is registered, if that may have changed or is needed, and names the frames.
  void look(MonotonicNs now_ns);
  // At the end of the image, or of the file: names frames that have no names, by the runtime's map.
  void look_at_map();

 private:
  static constexpr MonotonicNs kStillThere = UINT64_MAX;
  // Between two searches for descriptors. It doubles, because most code that is in no module is of
  // a runtime that has none.
  static constexpr uint64_t kShortestSearchPause = kNsPerSecond / 4;
  static constexpr uint64_t kLongestSearchPause = 16 * kNsPerSecond;

  struct Code {
    std::shared_ptr<const RegisteredCode> code;
    MonotonicNs absent_ns;  // it was not there then; 0: not known
    MonotonicNs seen_ns;
    MonotonicNs gone_ns = kStillThere;
  };
  struct Frame {
    uint32_t row = recording::kNone;
    MonotonicNs named_ns = 0;  // what was seen until then is written
    bool has_name = false;
  };

  void apply(const GdbJit::Look& look);
  void name_frames_of(const RegisteredCode& code);
  bool name(Avma avma, Frame& frame);
  void write(Frame& frame, MonotonicNs from_ns, std::string_view name);

  recording::Writer& writer_;
  SessionClock clock_;
  uint32_t process_;
  GdbJit jit_;
  PerfMap map_;
  std::vector<Code> codes_;       // the earliest first
  std::map<Avma, Frame> frames_;  // of the file
  uint64_t generation_ = 0;       // of the recording's files
  MonotonicNs looked_ns_ = 0;     // the latest look
  MonotonicNs complete_ns_ = 0;   // the latest one that saw all
  bool lacks_names_ = false;      // of frames that are new since the latest search
  MonotonicNs next_search_ns_ = 0;
  uint64_t search_pause_ns_ = kShortestSearchPause;
};

}  // namespace sampan::sampler
