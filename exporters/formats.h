// One function per format, each in the file with its name; csv.cpp has all tables of CSV. The
// registry lists them.
#pragma once

#include <cstdint>
#include <string>

#include "exporters/exporter.h"

namespace sampan::exporters {

Outcome write_trace(const profile::View& view, const std::string& path, uint64_t max_size);
Outcome write_html(const profile::View& view, const std::string& path, uint64_t max_size);
Outcome write_trace_gz(const profile::View& view, const std::string& path, uint64_t max_size);
Outcome write_pprof(const profile::View& view, const std::string& path, uint64_t max_size);
Outcome write_otlp(const profile::View& view, const std::string& path, uint64_t max_size);
Outcome write_pstats(const profile::View& view, const std::string& path, uint64_t max_size);
Outcome write_callgrind(const profile::View& view, const std::string& path, uint64_t max_size);
Outcome write_dot(const profile::View& view, const std::string& path, uint64_t max_size);
Outcome write_folded(const profile::View& view, const std::string& path, uint64_t max_size);
Outcome write_firefox(const profile::View& view, const std::string& path, uint64_t max_size);
Outcome write_flamegraph(const profile::View& view, const std::string& path, uint64_t max_size);
Outcome write_speedscope(const profile::View& view, const std::string& path, uint64_t max_size);
Outcome write_perf_script(const profile::View& view, const std::string& path, uint64_t max_size);
Outcome write_csv(const profile::View& view, const std::string& path, uint64_t max_size);
Outcome write_csv_threads(const profile::View& view, const std::string& path, uint64_t max_size);
Outcome write_csv_samples(const profile::View& view, const std::string& path, uint64_t max_size);
Outcome write_spans(const profile::View& view, const std::string& path, uint64_t max_size);
Outcome write_json(const profile::View& view, const std::string& path, uint64_t max_size);

}  // namespace sampan::exporters
