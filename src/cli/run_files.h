// What a run leaves: its directory, the recording in it, in one file or several, and when it is
// complete, the results. The same for `run`, `attach` and `collect`.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attach/module_file.h"
#include "cli/output_directory.h"
#include "cli/run_options.h"
#include "sampler/segments.h"
#include "symbolizer/symbolizer.h"

namespace sampan::cli {

class RunFiles {
 public:
  // Makes the directory. The options have been checked (chosen_formats, segment_options,
  // push_options). `process`: of which it is; 0: it runs where we do. Throws Error.
  RunFiles(const RunOptions& options, const std::string& program, pid_t process = 0);
  RunFiles(const RunFiles&) = delete;
  RunFiles& operator=(const RunFiles&) = delete;

  // The file that the recording begins with.
  std::string recording() const;
  // Null: it is the only one.
  sampler::Segments* segments() { return segments_ ? &*segments_ : nullptr; }
  // Asked when a file is complete, until conclude(): modules that are to be opened elsewhere.
  void set_hidden(std::function<std::vector<attach::HiddenFile>()> hidden) {
    hidden_now_ = std::move(hidden);
  }
  // Takes all of it back: the program could not be started.
  void remove() { directory_.remove(); }

  // The recording is complete: writes what was asked for beside it, says what there is, and waits
  // some seconds for the last of it to be pushed. Throws Error.
  void conclude(const std::vector<attach::HiddenFile>& hidden = {});

 private:
  void write_files(const std::vector<symbolizer::Substitute>& substitutes);
  void keep_open(const std::vector<attach::HiddenFile>& files);
  void push_file(const std::string& path);
  void push_rest();
  void conclude_black_box();
  void say_segments() const;

  const RunOptions& options_;
  std::vector<const exporters::Format*> formats_;
  OutputDirectory directory_;
  std::function<std::vector<attach::HiddenFile>()> hidden_now_;
  std::vector<attach::HiddenFile> hidden_;
  std::optional<push::Pusher> pusher_;
  std::optional<sampler::Segments> segments_;
};

}  // namespace sampan::cli
