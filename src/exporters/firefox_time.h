// Times as the Firefox Profiler has them.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "base/units.h"

namespace sampan::exporters {

// Milliseconds, as exactly as nanoseconds are.
inline std::string milliseconds(uint64_t ns) {
  std::string text(fmt::format_int(ns / kNsPerMs).str());
  if (ns % kNsPerMs == 0) return text;
  text += fmt::format(".{:06}", ns % kNsPerMs);
  text.resize(text.find_last_not_of('0') + 1);
  return text;
}

}  // namespace sampan::exporters
