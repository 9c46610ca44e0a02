// The memory that is shared with the collector (wire/control_block.h), mapped as far as it is used: its beginning with the slots
// that threads have had, and the rest, from the markers on, once somebody needs it. What is not mapped costs the program no
// address space.
//
// Freestanding: linked into the target.
#pragma once

#include <cstdint>

#include "wire/control_block.h"

namespace sampan::preload {

// Maps it for a new image. Null: no memory.
void* map_shared(int memfd, const wire::MemoryShape& shape);
// For a child of fork: the new memory over its parent's, as much of it. False: no memory.
bool map_shared_again(int memfd, const wire::MemoryShape& shape, void* at);
void unmap_shared(void* at, const wire::MemoryShape& shape);

// Whether the slot can be used, and the markers with what follows them: both are mapped if need be. Async-signal-safe.
bool map_slot(uint32_t slot);
bool map_markers();

}  // namespace sampan::preload
