// Shared by the commands that record: `run`, `attach`, and `collect`. Each makes a
// RecordingSession, lets it step until its process has ended, and finishes it.
#pragma once

#include <sys/types.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/run_options.h"
#include "sampler/process/module_file.h"
#include "sampler/record.h"
#include "sampler/recorder/segments.h"
#include "symbolizer/symbolizer.h"

namespace sampan::cli {

// The directory that a run leaves: OUTPUT/YYYY-MM-DD_HH-MM-SS_PROGRAM, in local time, with -2, -3,
// ... for further runs of the same second.
class OutputDirectory {
 public:
  // Creates it, and missing directories above it. Who may read the files, of `mode`, may read it. Throws
  // Error when that is not permitted.
  OutputDirectory(const std::string& output, const std::string& program, mode_t mode);

  const std::string& path() const { return path_; }
  std::string recording() const { return path_ + "/recording.sampan"; }
  // Removes it, and what was created above it: the program could not be started.
  void remove();

 private:
  std::string path_;
  std::string output_;
  bool created_output_ = false;
};

// The files of a run: its directory, the recording in it, which is one file or several, and, when
// it is complete, the results. For `run`, `attach` and `collect`.
class RunFiles {
 public:
  // Makes the directory. The options have been checked (chosen_formats, segment_options,
  // push_options). `process`: the one that is recorded; 0: it runs where we do. Throws Error.
  RunFiles(const RunOptions& options, const std::string& program, pid_t process = 0);
  RunFiles(const RunFiles&) = delete;
  RunFiles& operator=(const RunFiles&) = delete;

  // The file that the recording begins in.
  std::string recording() const;
  // Null: the recording is one file.
  sampler::Segments* segments() { return segments_ ? &*segments_ : nullptr; }
  // Called whenever a file is complete, until conclude(): returns modules that cannot be opened by
  // their paths.
  void set_hidden(std::function<std::vector<sampler::HiddenFile>()> hidden) {
    hidden_now_ = std::move(hidden);
  }
  // Such modules, for conclude().
  void keep(const std::vector<sampler::HiddenFile>& hidden) { add_new(hidden, &hidden_); }
  // Removes everything: the program could not be started.
  void remove() { directory_.remove(); }

  // The recording is complete: writes the results beside it, says where they are, and waits some
  // seconds for the rest to be pushed. Throws Error.
  void conclude();

 private:
  void write_files(const std::vector<symbolizer::Substitute>& substitutes);
  void push_file(const std::string& path);
  void push_rest();
  void conclude_black_box();
  void say_segments() const;

  const RunOptions& options_;
  std::vector<const exporters::Format*> formats_;
  OutputDirectory directory_;
  std::function<std::vector<sampler::HiddenFile>()> hidden_now_;
  std::vector<sampler::HiddenFile> hidden_;  // kept open: names may be looked up in them later
  std::optional<push::Pusher> pusher_;
  std::optional<sampler::Segments> segments_;
};

// The options of `attach`, and of `record -p`.
struct AttachOptions {
  RunOptions run;
  std::string target;  // a pid, or a program's name
  std::string engine = "auto";
  uint64_t duration_ns = 0;  // 0: until it ends, or Ctrl-C
};

// Declares the options that `run` does not have.
void add_attach_options(CLI::App& command, AttachOptions& options);

// Samples a running process until it ends, the time is over, or somebody stops it. Returns the exit
// status; throws Error.
int attach_and_record(const AttachOptions& options);

// Throws UsageError for what is wrong with the options, before anything begins. `process`: see
// push_options().
void check_options(const RunOptions& options, pid_t process);

// Launches a command, and records it to its end. Returns the exit status: the command's, unless it
// could not be started. Throws UsageError.
int run_and_record(const std::vector<std::string>& command, const RunOptions& options);

// The session of a program that was started as `command`; it begins now.
recording::Session describe(const std::vector<std::string>& command, const RunOptions& options);

sampler::RecordOptions record_options(const RunOptions& options,
                                      const recording::Session& description, RunFiles& files);

// The end of a session that is detached, as far as the session knows it.
recording::SessionEnd session_end(const sampler::RecordingSession& session);

}  // namespace sampan::cli
