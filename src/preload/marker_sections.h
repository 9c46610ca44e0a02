// Sections, and the program's switch for sampling. Async-signal-safe. Freestanding: linked into the
// target.
#pragma once

namespace sampan::preload {

// The functions of sampan/markers.h.
void section_start(const char* name, int calling_thread_only);
void section_stop(const char* name, int calling_thread_only);
void pause_by_program();
void resume_by_program();

// In a forked child: it is in none of its parent's sections.
void sections_after_fork();

}  // namespace sampan::preload
