// Writes a recording from rows in memory; the file is complete or absent.
//
// Errors: throws Error (base/error.h) with the file's name, e.g. when it exists or the disk is full.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "recording/reader.h"
#include "recording/writer.h"

namespace sampan::recording {

class CompleteFile {
 public:
  // `stopped` is called now and then; when it returns true, an Error is thrown.
  CompleteFile(
      const std::string& path, const Session& session, std::span<const Origin> origins,
      const std::function<bool()>& stopped = [] { return false; });
  ~CompleteFile();  // without finish(), nothing is left
  CompleteFile(const CompleteFile&) = delete;
  CompleteFile& operator=(const CompleteFile&) = delete;

  // The rows of a recording, or the next ones: their indexes count from those of the parts before. No row of a part
  // refers to a later part, and frames, stacks and waits differ from those before. Names are left to finish().
  void add(const Recording& part);
  // `names`: of the frames of all parts.
  void finish(const SessionEnd& end, const Names& names);

 private:
  void check() const;
  void add_stacks(const Recording& part);
  void add_samples(const Recording& part);
  void add_watched(const Recording& part);
  void add_markers(const Markers& markers);
  void count_row();

  const std::string path_, temporary_;
  const std::function<bool()> stopped_;
  std::optional<Writer> writer_;
  std::vector<uint32_t> modules_, frames_, waits_, locks_;  // the writer's, by those of the parts
  size_t rows_ = 0;
};

// Recording::segment is not written: see rebased() in segments.h.
void write(
    const Recording& recording, const std::string& path,
    const std::function<bool()>& stopped = [] { return false; });

}  // namespace sampan::recording
