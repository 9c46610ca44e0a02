// One function per format, each in the file of its name. The registry lists them.
#pragma once

#include <cstdint>
#include <string>

#include "exporters/exporter.h"

namespace sampan::exporters {

Outcome write_trace(const profile::View& view, const std::string& path);
Outcome write_pprof(const profile::View& view, const std::string& path);
Outcome write_pstats(const profile::View& view, const std::string& path);
Outcome write_folded(const profile::View& view, const std::string& path);

// chrome://tracing opens files of up to about 100 MB.
inline constexpr uint64_t kTraceBytes = 100'000'000;
Outcome write_trace_within(uint64_t bytes, const profile::View& view, const std::string& path);

}  // namespace sampan::exporters
