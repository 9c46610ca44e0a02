// The directory of a capture, in $TMPDIR or /tmp: its log, and the recording unless that is kept. It is removed with the
// capture. One whose owner was killed is removed when the next is made, by this user.
//
// A lock on the directory, which ends with its owner, tells which those are.
#pragma once

#include <string>

#include "base/file_descriptor.h"

namespace sampan::live {

class LiveDirectory {
 public:
  LiveDirectory();  // throws Error
  ~LiveDirectory();
  LiveDirectory(const LiveDirectory&) = delete;
  LiveDirectory& operator=(const LiveDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  FileDescriptor lock_;
};

}  // namespace sampan::live
