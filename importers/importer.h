// Profiles that other programs recorded, as recordings.
//
// Each importer reads one format: its file says where the format is described and what is made of it.
// The input is hostile: every length and every number is checked. Throws Error, without the file's name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "recording/reader.h"

namespace sampan::importers {

struct Options {
  // Which of several values or events weights are of: "alloc_space", "cycles"; "": the usual one.
  std::string weight = {};
  // How often a sample was taken per second, for files that do not say it: their counts become time. 0: not known.
  uint32_t rate_hz = 0;
};

struct Importer {
  std::string_view name;   // "pprof"
  std::string_view about;  // "a pprof file": session.engine becomes "import of a pprof file"
  // Whether the bytes, already inflated, look like a file of this format.
  bool (*matches)(std::string_view bytes);
  recording::Recording (*read)(std::string_view bytes, const Options& options);
};

std::span<const Importer> importers();

// Reads a file, inflated if it is a gzip or zstd file. `format` is the name of an importer, or "": what the bytes look like.
// Throws Error with the path.
recording::Recording import_file(const std::string& path, const std::string& format,
                                 const Options& options);
// The same for bytes in memory.
recording::Recording import_bytes(std::string_view bytes, const std::string& format,
                                  const Options& options);

}  // namespace sampan::importers
