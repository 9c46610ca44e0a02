// A directory for files that somebody else writes, and that go with it.
#pragma once

#include <string>

namespace sampan::serve {

class TemporaryDirectory {
 public:
  TemporaryDirectory();  // in $TMPDIR, else /tmp; throws Error
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace sampan::serve
