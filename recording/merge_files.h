// Merges the recordings in many files, such as a thousand ranks of a job, with a few of them in memory at a time. Each is
// read twice: first for what all have in common, then for its rows.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "recording/merge.h"

namespace sampan::recording {

struct MergeFile {
  std::string label;
  std::string path;  // as read_whole() takes it
  bool label_is_chosen =
      true;  // else Session::worker_name() is better, where all have different ones
};

struct LeftOut {
  std::string label;
  std::string why;  // "opening /tmp/x: No such file or directory"
};

struct MergedFiles {
  size_t merged = 0;
  Alignment alignment;
  // Those that cannot be read, are damaged, or count another unit than the first one.
  std::vector<LeftOut> left_out;
};

// How the files are aligned; by default, as is usual. `marker`: the name of the marks of Align::kMarks.
struct MergeAlign {
  std::optional<Align> how = {};
  std::string marker = {};
};

// Writes `path`, see CompleteFile. Recordings that have a rank come in the order of their ranks, before the others.
// SessionEnd::note names what was left out. Throws Error when nothing is left to merge.
MergedFiles merge_files(std::span<const MergeFile> files, const std::string& path,
                        const MergeAlign& align, const std::function<bool()>& stopped);

}  // namespace sampan::recording
