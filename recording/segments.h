// A recording in several files: "000000.sampan", "000001.sampan", … in the directory "segments" of
// the run's directory. They can be read during the session; the oldest may be deleted meanwhile.
//
// Times in all segments count from the start of the session, so segments can be joined as they are.
// rebased() makes times count from the begin of the recording itself, as people expect of a file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "recording/reader.h"

namespace sampan::recording {

// Processes and threads that continue from one segment to the next become one row, with the CPU of
// all segments; so do sections and pauses. Blocks that several segments have are there once. Rows have
// no ids afterwards.
class Joiner {
 public:
  Joiner();
  ~Joiner();
  // Segments in their order. Recording::damage names those that are missing in between.
  void add(Recording segment);
  // Without segments: an empty recording.
  Recording finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The part from `from_ns` to `to_ns`: samples, allocations, frees and events of that time, the sampled
// blocks that lived at its begin, spans and waits for locks that ended then, sections and pauses cut to
// that time, and the processes and threads that lived then. Ends have no CPU, because
// the kernel's account of just that time is not known.
Recording cut(Recording recording, SessionNs from_ns, SessionNs to_ns);

// The recording with its segment's begin as time 0, and without Recording::segment. What began
// earlier begins at 0. The first or only segment is returned unchanged.
Recording rebased(Recording recording);

inline constexpr const char* kSegmentsDirectory = "segments";

std::string segment_file_name(uint32_t number);

// The segments in `directory`, in their order; empty when there is no such directory.
std::vector<std::string> segment_files(const std::string& directory);

// The time from `from_ns` to `to_ns`, joined from those of `files` that have some of it. Throws
// Error when none can be read.
Recording read_segments(const std::vector<std::string>& files, SessionNs from_ns = 0,
                        SessionNs to_ns = UINT64_MAX);

// The recording at `path`, a file or a directory of segments. Its times are rebased(). Throws
// Error.
Recording read_whole(const std::string& path);

}  // namespace sampan::recording
