// Parts of the report as data: the heap, waits for locks, and the critical path over these.
#pragma once

#include <string>

#include "base/text/json_writer.h"
#include "profile/view.h"

namespace sampan::reports {

// The member "heap", of a view of the heap.
void write_heap(Json& json, const profile::View& view);
// The member "locks", of a view of locks.
void write_locks(Json& json, const profile::View& view);
// Throws Error as critical_path() does.
void write_critical_path(Json& json, const profile::View& view, const std::string& what);

}  // namespace sampan::reports
