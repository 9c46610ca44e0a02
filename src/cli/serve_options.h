// The options of `serve`, and what is checked of them before anything begins.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/continuous_options.h"
#include "cli/push_options.h"
#include "cli/sampling_options.h"
#include "http/server.h"
#include "live/capture.h"

namespace sampan::cli {

struct ServeOptions {
  std::string target;  // a pid, a program's name, or a recording
  uint16_t port = 0;
  std::string bind = "127.0.0.1";
  std::string token_file;
  std::string certificate_file;
  std::string key_file;
  bool stay = false;
  SamplingOptions sampling = {.rate_hz = 100};
  ContinuousOptions continuous;
  std::string output = "sampan-profiles";  // with --continuous
  PushOptions push;                        // with --continuous
  std::string engine = "auto";
  bool follow = true;
};

// Declares them on `command`, which fills `options` when it is parsed.
void add_serve_options(CLI::App& command, ServeOptions& options);

// How a process is captured, or the command where there is one. Throws UsageError.
live::CaptureOptions capture_options(const CLI::App& command, const ServeOptions& options,
                                     const std::vector<std::string>& program);

// Both files, or neither. Throws UsageError, and Error when one cannot be read.
http::Certificate read_certificate(const ServeOptions& options);

}  // namespace sampan::cli
