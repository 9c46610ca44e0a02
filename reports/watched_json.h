// Parts of the report as data: the heap, and waits for locks.
#pragma once

#include "base/text/json_writer.h"
#include "profile/view.h"

namespace sampan::reports {

// The member "heap", of a view of the heap.
void write_heap(Json& json, const profile::View& view);
// The member "locks", of a view of locks.
void write_locks(Json& json, const profile::View& view);

}  // namespace sampan::reports
