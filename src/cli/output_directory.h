// The directory that a run leaves: OUTPUT/YYYY-MM-DD_HH-MM-SS_PROGRAM, in local time, with -2, -3,
// ... when runs of the same second would share one.
#pragma once

#include <string>

namespace sampan::cli {

class OutputDirectory {
 public:
  // Creates it, and what is missing above it. Throws Error where that is not permitted.
  OutputDirectory(const std::string& output, const std::string& program);

  const std::string& path() const { return path_; }
  std::string recording() const { return path_ + "/recording.sampan"; }
  // Takes it back, with what was created above it: the program could not be started.
  void remove();

 private:
  std::string path_;
  std::string output_;
  bool created_output_ = false;
};

}  // namespace sampan::cli
