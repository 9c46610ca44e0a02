// Where profiles are pushed to, and how: the options of `push`, and of what pushes while it
// records.
#pragma once

#include <sys/types.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "push/pusher.h"

namespace sampan::cli {

struct PushOptions {
  // "--": `push --to URL --format F`; "--push-": `run --push URL --push-format F`.
  std::string prefix = "--push-";
  std::string url;
  std::string format;
  std::vector<std::string> labels;
  std::string spool;
  std::string spool_size = "256M";
  std::string token_file;
  std::vector<std::string> headers;
  std::string ca_file;

  bool wanted() const { return !url.empty(); }
};

// Declares them on `command`, which fills `options` when it is parsed.
void add_push_options(CLI::App& command, PushOptions& options);

// What was asked for. `process`: whose container is meant; 0: ours; -1: it is not known. Throws
// UsageError.
push::PushOptions push_options(const PushOptions& options, pid_t process);

// As another sampan takes them; nothing where nothing is to be pushed.
std::vector<std::string> as_words(const PushOptions& options);

// One sentence for each thing that a person should know; where all is well only unless `quiet`.
void say_pushed(const push::Summary& summary, const PushOptions& options,
                const std::string& directory, bool quiet);

}  // namespace sampan::cli
