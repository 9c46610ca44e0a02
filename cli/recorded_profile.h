// From a recording to a profile with names, for all commands that read one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "cli/recording_options.h"
#include "profile/profile.h"
#include "recording/reader.h"
#include "symbolizer/symbolizer.h"

namespace sampan::cli {

// One line on stderr that says what is being done, if it takes longer than a second. Only on a
// terminal.
class Progress {
 public:
  Progress();
  ~Progress();  // erases the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // "Symbolizing: 1200 of 5000". Shown at most ten times a second.
  void show(const std::string& what, size_t done, size_t all);
  // "Writing the trace": for a step of unknown length.
  void show(const std::string& what);

 private:
  bool is_due();
  void print(const std::string& line);

  bool terminal_;
  bool shown_ = false;
  MonotonicNs next_ns_;
};

// `path`: from recording_path(). Reports damage on stderr. Throws Error if nothing can be read.
recording::Recording read_recording(const std::string& path);

// The recording that the options name, with the frames that they choose.
profile::Profile load_profile(const RecordingOptions& options);
// One of several recordings, by the clocks of their hosts if they ran at the same time.
profile::Profile load_together(const std::vector<LabelledPath>& paths,
                               profile::PythonFrames python);

// Looks up the names of the profile's functions. `sysroot`: see add_sysroot_option(). Returns a
// sentence for each module with missing names.
std::vector<std::string> find_names(profile::Profile& profile, const std::string& sysroot,
                                    Progress& progress,
                                    const std::vector<symbolizer::Substitute>& substitutes = {});

// With a Progress of its own.
std::vector<std::string> find_names(profile::Profile& profile, const std::string& sysroot = "");

// Writes the profile's names into its recording. Throws Error.
void record_names(const std::string& path, const profile::Profile& profile);

// Prints these sentences on stderr.
void print_without_symbols(const std::vector<std::string>& problems);

}  // namespace sampan::cli
