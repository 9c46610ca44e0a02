// The formats a profile can be written in. What each viewer demands is said in the exporter's file.
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
  // Its rows are threads over time, or the report's threads: threads are not merged in it.
  bool timeline;
  // Bytes that its viewer opens; 0: any number. Beyond them a file is made smaller, in a way that
  // keeps totals, and a note says how.
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
  bool per_thread = false;   // one more file for each thread with samples, of the formats that can
  bool per_process = false;  // one more file for each process with samples
  std::optional<uint64_t> max_size = {};  // bytes, instead of what each format has
  // A directory with the same files, but for the page, for each section that the program named; of
  // more than so many, those of the longest occurrence. Not of a view that is cut to one.
  size_t max_sections = 0;
};
inline constexpr size_t kUsualSections = 50;

// "DIRECTORY/sections/infer_1", the section's name made safe for a file name.
std::string section_directory(const std::string& directory, const std::string& section);

struct Written {
  std::string path;
  const Format* format;
  std::vector<std::string> notes;
  std::string section_directory = {};  // of the file, if it is of a section
};

// One file. What holds for all formats is done here: threads are merged or not, and a file that
// could not be made small enough is said to be so.
Written write_file(const profile::View& view, const Format& format, const std::string& path,
                   const WriteOptions& options = {});

// Everything a run leaves in its directory: for each format profile_overall<suffix> (the trace:
// profile_trace.json), and what the options add. Of sections that were left out the last file of a
// section has a note.
std::vector<Written> write_all(const profile::View& view, std::span<const Format* const> formats,
                               const std::string& directory, const WriteOptions& options = {});

// The same files in one, a .tar.gz, complete or absent. Each is written beside it first, and is
// gone when the next begins. The paths of the result are those in the bundle.
std::vector<Written> write_bundle(const profile::View& view, std::span<const Format* const> formats,
                                  const std::string& path, const WriteOptions& options = {});

}  // namespace sampan::exporters
