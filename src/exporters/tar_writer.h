// A .tar.gz (POSIX ustar in gzip), one file after the other. Members are of nobody, have no time
// and may be read by all: the same files give the same bytes.
//
// Errors: throws Error for a file that cannot be read, or is too large for the format (8 GiB).
#pragma once

#include <string>

#include "exporters/gzip_writer.h"
#include "exporters/output_file.h"

namespace sampan::exporters {

class TarWriter {
 public:
  explicit TarWriter(OutputFile& file) : gzip_(file) {}

  // The file at `path` under `name`, of at most 100 bytes.
  void add(const std::string& name, const std::string& path);
  void finish();

 private:
  GzipWriter gzip_;
};

}  // namespace sampan::exporters
