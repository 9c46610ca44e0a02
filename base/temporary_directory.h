// A directory that is removed with all that is in it. Hosted only.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "base/error.h"

namespace sampan {

class TemporaryDirectory {
 public:
  // In $TMPDIR, else /tmp. Its name is `prefix` and letters that make it unique. Throws Error.
  explicit TemporaryDirectory(const std::string& prefix)
      : TemporaryDirectory(prefix, usual_parent()) {}
  TemporaryDirectory(const std::string& prefix, const std::filesystem::path& parent)
      : path_((parent / (prefix + "XXXXXX")).string()) {
    if (mkdtemp(path_.data()) == nullptr) {
      throw Error("creating a directory in {}: {}", parent.string(), std::strerror(errno));
    }
  }
  ~TemporaryDirectory() {
    std::error_code ignored;  // leftovers are no error
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  static std::filesystem::path usual_parent() {
    const char* const parent = std::getenv("TMPDIR");
    return parent != nullptr && *parent != '\0' ? parent : "/tmp";
  }

  std::string path_;
};

}  // namespace sampan
