// operator new and delete, which operators.cpp defines.
//
// Freestanding: linked into the target.
#pragma once

namespace sampan::preload {

// In the constructor: looks up what they are passed on to. May leave an error for dlerror().
void start_operators();

}  // namespace sampan::preload
