// What the tests of importers look at: the stacks of a recording, as text.
#pragma once

#include <fmt/core.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "importers/importer.h"
#include "profile/frames.h"
#include "profile/load.h"

namespace sampan::importers {

inline profile::Profile load_bytes(std::string_view bytes, const std::string& format = "",
                                   const Options& options = {}) {
  return profile::load(import_bytes(bytes, format, options));
}

struct Sum {
  uint64_t samples = 0;
  uint64_t weight = 0;
  friend bool operator==(const Sum&, const Sum&) = default;
};

// "thread;main;work" root first, with inlined functions; a place without a name is "module+0x12".
inline std::map<std::string, Sum> stacks_of(const profile::Profile& profile) {
  std::map<std::string, Sum> stacks;
  std::vector<profile::Frame> frames;
  for (const profile::Sample& sample : profile.samples) {
    std::string text = profile.threads[sample.thread].name;
    for (uint32_t stack = sample.stack; stack != profile::kNone;
         stack = profile.stacks[stack].prefix) {
      const profile::Location& place = profile.locations[profile.stacks[stack].location];
      std::string names;
      profile::for_each_frame(
          profile, profile.stacks[stack].location, [&](const profile::Frame& frame) {
            names = ";" + std::string(profile::function_name(profile, frame.function)) + names;
          });
      if (place.line_count == 0) {
        names =
            fmt::format(";{}+0x{:x}", profile::module_name(profile, place.module), place.address);
      }
      text.insert(profile.threads[sample.thread].name.size(), names);
    }
    Sum& sum = stacks[text];
    ++sum.samples;
    sum.weight += sample.weight_ns;
  }
  return stacks;
}

// The message of the Error that importing throws; "" if it throws none.
inline std::string error_of(std::string_view bytes, const std::string& format = "",
                            const Options& options = {}) {
  try {
    import_bytes(bytes, format, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace sampan::importers
