// Any bytes as the dump (if the first byte is even) or the map of code that a runtime makes. The names
// that are read must cover the sampled addresses.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "symbolizer/symbolizer.h"

using namespace sampan;

namespace {

constexpr int32_t kPid = 5'000'000;  // no process has it

profile::Profile sampled() {
  profile::Profile profile;
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  profile.session.host = host;
  profile.session.start_monotonic_ns = 1000;
  profile.processes.emplace_back().pid = kPid;
  profile.threads.emplace_back().process = 0;
  for (uint32_t i = 0; i < 8; ++i) {
    profile.locations.push_back({.module = profile::kNone, .address = 0x1000 + 16 * i});
    profile.stacks.push_back({i == 0 ? profile::kNone : i - 1, i});
    for (uint64_t time = 0; time < 4; ++time) {
      profile.samples.push_back({SessionNs::at(time * 1000), 1, 0, i, profile::kNone, true});
    }
  }
  return profile;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  static const std::filesystem::path directory =
      std::filesystem::temp_directory_path() / ("sampan-jit-fuzz-" + std::to_string(getpid()));
  std::filesystem::create_directories(directory);
  const std::filesystem::path dump = directory / ("jit-" + std::to_string(kPid) + ".dump");
  const std::filesystem::path map = directory / ("perf-" + std::to_string(kPid) + ".map");
  const bool is_dump = *data % 2 == 0;
  std::ofstream(dump) << std::string(is_dump ? data + 1 : data, is_dump ? data + size : data);
  std::ofstream(map) << std::string(is_dump ? data : data + 1, is_dump ? data : data + size);

  profile::Profile profile = sampled();
  symbolizer::Options options;
  options.jit_directories = {directory};
  symbolizer::symbolize(profile, options);
  for (const profile::Sample& sample : profile.samples) {
    for (uint32_t i = sample.stack; i != profile::kNone; i = profile.stacks[i].prefix) {
      if (profile.stacks[i].prefix != profile::kNone && profile.stacks[i].prefix >= i) abort();
      const profile::Location& location = profile.locations.at(profile.stacks[i].location);
      if (location.line_count != 1) abort();
      if (profile.lines.at(location.first_line).function >= profile.functions.size()) abort();
    }
  }
  return 0;
}
