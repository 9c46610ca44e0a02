// A file that is complete or absent: written under a temporary name beside its own and renamed by
// commit(). What is no regular file (a pipe, /dev/null) is written directly, and "-" is standard
// output.
//
// Errors: throws Error, which names the file. After interrupt_writing(), every write does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sampan::exporters {

// For a signal handler: the person wants no more files. Those that are being written go.
void interrupt_writing();

class OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  ~OutputFile();  // without commit(), nothing of the file is left
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view bytes);
  uint64_t size() const { return size_; }  // bytes so far
  void commit();

 private:
  void flush();
  [[noreturn]] void fail(int error) const;

  std::string path_;
  std::string temporary_;  // empty: written directly
  int fd_ = -1;
  std::string buffer_;
  uint64_t size_ = 0;
};

}  // namespace sampan::exporters
