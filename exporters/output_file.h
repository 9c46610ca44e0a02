// A file that is complete or absent: it is written under a temporary name in the same directory,
// and commit() renames it. Files that are not regular (a pipe, /dev/null) are written directly; "-"
// is standard output.
//
// Errors: throws Error, which names the file. After interrupt_writing(), every write throws.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace sampan::exporters {

// For a signal handler: stops writing. Files that are not complete are removed.
void interrupt_writing();

class OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  ~OutputFile();  // removes the file unless commit() was called
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

// A gzip member (RFC 1952) into an output file. The header carries no time and no name, so the same
// profile gives the same bytes.
class GzipWriter {
 public:
  explicit GzipWriter(OutputFile& file);
  ~GzipWriter();
  GzipWriter(const GzipWriter&) = delete;
  GzipWriter& operator=(const GzipWriter&) = delete;

  void write(std::string_view bytes) { deflate_all(bytes, Z_NO_FLUSH); }
  void finish() { deflate_all({}, Z_FINISH); }

 private:
  void deflate_all(std::string_view bytes, int flush);

  OutputFile& file_;
  z_stream stream_ = {};
  std::string output_;
};

}  // namespace sampan::exporters
