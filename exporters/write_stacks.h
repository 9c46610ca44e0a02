// Files of stacks with weights, within a size: the lightest stacks are merged into their callers'.
//
// The weights of threads stay exact, on CPU and waiting: a wait is never merged into its caller.
// Functions near the leaves lose self time to their callers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "exporters/exporter.h"
#include "exporters/output_file.h"
#include "profile/weights.h"

namespace sampan::exporters {

using StackRows = std::vector<profile::WeightedStack>;

// Rows of by_thread_and_stack(), with those below `least_ns` added to the row of their prefix.
StackRows merge_light_stacks(const profile::Profile& profile, const StackRows& rows,
                             uint64_t least_ns);

// Writes the file at `path` with write(), which gets all rows of the view, or fewer that fit into
// `max_size` bytes (0: any number). `labels`: as of by_thread_and_stack().
Outcome write_stacks(const profile::View& view, const std::string& path, uint64_t max_size,
                     const std::function<void(const StackRows& rows, OutputFile& file)>& write,
                     const std::vector<uint32_t>& labels = {});

}  // namespace sampan::exporters
