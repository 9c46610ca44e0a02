// One function per format, each in the file of its name. The registry lists them.
#pragma once

#include <cstdint>
#include <string>

#include "exporters/exporter.h"

namespace sampan::exporters {

Outcome write_trace(const profile::View& view, const std::string& path, uint64_t max_size);
Outcome write_pprof(const profile::View& view, const std::string& path, uint64_t max_size);
Outcome write_pstats(const profile::View& view, const std::string& path, uint64_t max_size);
Outcome write_callgrind(const profile::View& view, const std::string& path, uint64_t max_size);
Outcome write_folded(const profile::View& view, const std::string& path, uint64_t max_size);
Outcome write_firefox(const profile::View& view, const std::string& path, uint64_t max_size);
Outcome write_speedscope(const profile::View& view, const std::string& path, uint64_t max_size);

}  // namespace sampan::exporters
