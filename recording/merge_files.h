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
};

struct LeftOut {
  std::string label;
  std::string why;  // "opening /tmp/x: No such file or directory"
};

struct MergedFiles {
  size_t merged = 0;
  Align align = Align::kStart;
  // Those that cannot be read, are damaged, or count another unit than the first one.
  std::vector<LeftOut> left_out;
};

// Writes `path`, see CompleteFile. Without `align`, the usual one. SessionEnd::note names what was left out. Throws Error
// when nothing is left to merge.
MergedFiles merge_files(std::span<const MergeFile> files, const std::string& path,
                        std::optional<Align> align, const std::function<bool()>& stopped);

}  // namespace sampan::recording
