// The spans and counters of workers beside each other.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/workers.h"

namespace sampan::profile {

// Sets `spans` and `counters`, from the markers in the view. `worker_of_thread`: by thread, one of workers->workers;
// kNone: its markers are left out.
void compare_markers(const View& view, const std::vector<uint32_t>& worker_of_thread,
                     Workers* workers);

}  // namespace sampan::profile
