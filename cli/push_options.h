// The options that say where and how profiles are pushed: those of `push`, and of commands that
// push while they record.
#pragma once

#include <sys/types.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "remote/push/pusher.h"

namespace sampan::cli {

struct PushOptions {
  // The prefix of options. "--": `push --to URL --format F`; "--push-": `run --push URL
  // --push-format F`.
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

// Declares the options on `command`, which fills `options` when it is parsed.
void add_push_options(CLI::App& command, PushOptions& options);

// `process`: labels tell its container; 0: this process; -1: unknown. Throws UsageError.
push::PushOptions push_options(const PushOptions& options, pid_t process);

// Those of --label. Throws UsageError.
push::Labels chosen_labels(const PushOptions& options);
// What is recorded about the process: --label, then the environment's. Labels of the environment that are malformed are
// left out, and a message says so.
push::Labels recorded_labels(const PushOptions& options);

// "-rank-3" for a worker of a parallel job, "-task-2" for a task of a job array; else "".
std::string job_suffix();

// Prints a summary on stderr. With `quiet` only if something was not sent.
void say_pushed(const push::Summary& summary, const PushOptions& options,
                const std::string& directory, bool quiet);

}  // namespace sampan::cli
