// The file under a Writer: appends whole blocks, and takes back one that did not fit.
#pragma once

#include <string>

namespace sampan::recording {

class OutputFile {
 public:
  // Creates `path`; throws Error when it exists or cannot be created.
  explicit OutputFile(const std::string& path);
  ~OutputFile() { close(); }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Appends `bytes` in one write(2). After a failure (the disk is full), which throws Error once,
  // the file ends with the last whole block, and nothing more is written.
  void append(const std::string& bytes);
  void close();

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int fd_ = -1;
  int64_t size_ = 0;
};

}  // namespace sampan::recording
