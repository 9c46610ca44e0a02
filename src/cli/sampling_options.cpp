#include "cli/sampling_options.h"

#include <fmt/core.h>

#include <charconv>
#include <cstdio>

#include "cli/command.h"
#include "wire/control_block.h"

namespace sampan::cli {
namespace {

double parse_share(const std::string& text) {
  double percent = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, percent, std::chars_format::fixed);
  if (error != std::errc() || rest + 1 != end || *rest != '%' || !(percent > 0 && percent <= 100)) {
    throw UsageError("--max-overhead {}: give it a share of the program's CPU, as 1% or 0.5%",
                     text);
  }
  return percent / 100;
}

}  // namespace

void add_sampling_options(CLI::App& command, SamplingOptions& options) {
  command.add_option("--rate", options.rate_hz, "Samples per second of CPU of each thread")
      ->envname("SAMPAN_RATE")
      ->type_name("HZ")
      ->capture_default_str()
      ->check(CLI::Range(1u, wire::kHighestRateHz).description(""));
  command
      .add_option("--clock", options.clock, "What is sampled: threads on CPU, or waiting ones too")
      ->envname("SAMPAN_CLOCK")
      ->type_name("cpu|wall")
      ->capture_default_str()
      ->check(CLI::IsMember({"cpu", "wall"}).description(""));
  command
      .add_option("--max-overhead", options.max_overhead,
                  "Hold what sampling costs under so much of the program's CPU, as 1%, by a lower "
                  "rate")
      ->envname("SAMPAN_MAX_OVERHEAD")
      ->type_name("PERCENT");
}

sampler::RateOptions rate_options(const SamplingOptions& options, bool quiet) {
  sampler::RateOptions rate;
  rate.asked_hz = options.rate_hz;
  if (!options.max_overhead.empty()) rate.max_overhead = parse_share(options.max_overhead);
  if (!quiet) rate.say = [](const std::string& what) { fmt::print(stderr, "sampan: {}\n", what); };
  return rate;
}

std::vector<std::string> as_words(const SamplingOptions& options) {
  std::vector<std::string> words = {"--rate", std::to_string(options.rate_hz), "--clock",
                                    options.clock};
  if (!options.max_overhead.empty()) {
    words.insert(words.end(), {"--max-overhead", options.max_overhead});
  }
  return words;
}

}  // namespace sampan::cli
