// The file under a Writer: appends whole blocks, and takes back one that did not fit.
#pragma once

#include <cstdint>
#include <string>

namespace sampan::recording {

class OutputFile {
 public:
  // Creates `path`; throws Error when it exists or cannot be created.
  explicit OutputFile(const std::string& path);
  // Opens one that exists, to append to it.
  struct Existing {};
  OutputFile(const std::string& path, Existing);
  ~OutputFile() { close(); }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Appends `bytes` in one write(2). After a failure (the disk is full), which throws Error once,
  // the file ends with the last whole block, and nothing more is written.
  void append(const std::string& bytes);
  void close();

  uint64_t size() const { return static_cast<uint64_t>(size_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int fd_ = -1;
  int64_t size_ = 0;
};

}  // namespace sampan::recording
