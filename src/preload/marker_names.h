// The names of spans, events and counters, each once in the memory that is shared with the
// collector. Finding one that is known takes no lock.
//
// Async-signal-safe. Freestanding: linked into the target.
#pragma once

#include <cstdint>
#include <string_view>

namespace sampan::preload {

enum class NameUse : uint8_t {
  kOrdinary,
  kCounter,  // also has what is kept free for counters, which cannot do without
};

// The name's index among wire::MarkerNames; kInlineName when there is no more room, or no lock:
// then it stands in the record itself.
uint32_t index_of_name(std::string_view name, NameUse use);

// In a forked child, before any marker: its shared memory has no names yet.
void marker_names_after_fork();

}  // namespace sampan::preload
