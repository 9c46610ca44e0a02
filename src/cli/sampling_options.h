// How threads are sampled: the options that run, attach, serve and top have in common.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "sampler/rate_control.h"

namespace sampan::cli {

struct SamplingOptions {
  unsigned rate_hz = 250;
  std::string clock = "cpu";      // or "wall"
  std::string max_overhead = {};  // "1%"; "": no limit
};

// --rate, --clock, --max-overhead, with what `options` has as defaults.
void add_sampling_options(CLI::App& command, SamplingOptions& options);

// The rate, and what it may cost; changes that matter are said on stderr unless `quiet`. Throws
// UsageError.
sampler::RateOptions rate_options(const SamplingOptions& options, bool quiet);

// The same as words of a command line.
std::vector<std::string> as_words(const SamplingOptions& options);

}  // namespace sampan::cli
