// The table of sampan/markers.h, and how modules get it.
//
// Ordinary context. Freestanding: linked into the target.
#pragma once

#include <link.h>

namespace sampan::preload {

// Before any module is connected. `allowed`: SAMPAN_MARKERS is not 0.
void start_markers(bool allowed);

// Gives a module that was built with sampan/markers.h the table. Other modules are left as they
// are. More than once is fine.
void connect_markers(const dl_phdr_info& module);

}  // namespace sampan::preload
