// A gzip member (RFC 1952) into an output file. The header carries no time and no name, so the same
// profile gives the same bytes.
#pragma once

#include <zlib.h>
#include <string>
#include <string_view>

#include "exporters/output_file.h"

namespace sampan::exporters {

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
