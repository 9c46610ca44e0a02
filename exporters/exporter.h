// The formats of exports. The file of each exporter says what its viewers require.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "profile/view.h"

namespace sampan::exporters {

struct Outcome {
  std::vector<std::string> notes;  // what was merged or left out to fit a viewer
};

struct Format {
  std::string_view name;    // "pprof", as in --format
  std::string_view suffix;  // ".pb.gz"
  std::string_view viewer;  // "go tool pprof -http=: FILE": what to open it with
  bool per_thread;          // false: one file holds all threads (trace)
  // It shows threads over time or as the report does, so threads are not merged in it.
  bool timeline;
  bool of_time;  // it cannot show what an imported profile counts: cycles, bytes
  // The most bytes that its viewer opens; 0: any number. Larger files are reduced so that totals
  // stay the same, and a note says how.
  uint64_t max_size;
  // Writes `path`: complete or absent. Throws Error. `max_size` as above.
  Outcome (*write)(const profile::View& view, const std::string& path, uint64_t max_size);
};

std::span<const Format> formats();
// Throws Error with the nearest name when there is none.
const Format& format(std::string_view name);

// "profile_thread_1234_worker_1.pb.gz": the thread's name made safe for a file name.
std::string thread_file_name(const profile::Thread& thread, const Format& format);

struct WriteOptions {
  bool per_thread = false;   // also a file for each thread with samples, if the format can
  bool per_process = false;  // also a file for each process with samples
  std::optional<uint64_t> max_size = {};  // bytes; replaces Format::max_size
  // Also a directory with the same files except the page for each section of the program, for at
  // most so many: those with the longest occurrences. Not for a view of one section.
  size_t max_sections = 0;
};
inline constexpr size_t kUsualSections = 50;

// "DIRECTORY/sections/infer_1", the section's name made safe for a file name.
std::string section_directory(const std::string& directory, const std::string& section);

struct Written {
  std::string path;
  const Format* format;
  std::vector<std::string> notes;
  std::string section_directory = {};  // of the file, if it belongs to a section
};

// Writes one file. Does what all formats have in common: merges threads or not, and notes that a
// file could not be made small enough.
Written write_file(const profile::View& view, const Format& format, const std::string& path,
                   const WriteOptions& options = {});

// Writes all files of a run's directory: profile_overall<suffix> for each format (the trace is
// profile_trace.json), and what the options add. A note of the last file of a section says which
// sections were left out.
std::vector<Written> write_all(const profile::View& view, std::span<const Format* const> formats,
                               const std::string& directory, const WriteOptions& options = {});

// Writes the same files into a .tar.gz, complete or absent. Each is first written to a temporary
// file beside it, one at a time. The result has the paths in the bundle.
std::vector<Written> write_bundle(const profile::View& view, std::span<const Format* const> formats,
                                  const std::string& path, const WriteOptions& options = {});

}  // namespace sampan::exporters
