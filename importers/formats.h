// The importers; each is in the file of its name. See Importer (importer.h). inflate.cpp reads files that are compressed as a
// whole.
#pragma once

#include <string>
#include <string_view>

#include "importers/importer.h"

namespace sampan::importers {

bool is_folded(std::string_view bytes);
recording::Recording read_folded(std::string_view bytes, const Options& options);
bool is_perf_data(std::string_view bytes);
recording::Recording read_perf_data(std::string_view bytes, const Options& options);
bool is_perf_script(std::string_view bytes);
recording::Recording read_perf_script(std::string_view bytes, const Options& options);
bool is_pprof(std::string_view bytes);
recording::Recording read_pprof(std::string_view bytes, const Options& options);
bool is_gperftools_cpu(std::string_view bytes);
recording::Recording read_gperftools_cpu(std::string_view bytes, const Options& options);
bool is_gperftools_heap(std::string_view bytes);
recording::Recording read_gperftools_heap(std::string_view bytes, const Options& options);
bool is_cpuprofile(std::string_view bytes);
recording::Recording read_cpuprofile(std::string_view bytes, const Options& options);

// Returns the content of a gzip (RFC 1952) or zstd (RFC 8878) file; empty when the bytes are neither. Throws Error when they are
// damaged, cut off, or hold more than 4 GB.
std::string inflate(std::string_view bytes);

}  // namespace sampan::importers
