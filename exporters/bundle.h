// A .tar.gz, one file after the other, written by libarchive. Members belong to nobody, have no time
// and may be read by all, so the same files give the same bytes. Names longer than ustar's 100 bytes
// have a pax header (POSIX.1-2001), which GNU tar, bsdtar and Python read.
//
// Errors: throws Error for a file that cannot be read, for libarchive's own failures, where
// libarchive is not installed, and what OutputFile throws.
#pragma once

#include <exception>
#include <string>

#include "exporters/output_file.h"

struct archive;

namespace sampan::exporters {

class Bundle {
 public:
  explicit Bundle(OutputFile& file);
  ~Bundle();
  Bundle(const Bundle&) = delete;
  Bundle& operator=(const Bundle&) = delete;

  // The file at `path` under `name`, which is ASCII.
  void add(const std::string& name, const std::string& path);
  void finish();

 private:
  struct Callbacks;
  void check(int result);

  OutputFile& file_;
  archive* archive_;
  std::exception_ptr failure_;  // of file_: no exception may pass through libarchive
};

}  // namespace sampan::exporters
