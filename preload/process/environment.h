// The environment: what it tells the shim, and what images that the program executes get.
//
// Freestanding: linked into the target.
#pragma once

#include <cstddef>
#include <span>

namespace sampan::preload {

// Reads the environment once, in the constructor, and keeps copies: the program may change its own.
// `shim_path`: for LD_PRELOAD.
void read_environment(const char* shim_path);

// The value of a variable; null: it is not there.
const char* find_variable(char* const* environment, const char* name);
// Of this process, now. Not by getenv, which programs define themselves (shells do).
const char* variable_of_process(const char* name);

bool enabled_by_environment();  // SAMPAN=1
bool fast_clock_always();       // SAMPAN_FAST_CLOCK is "always"
bool markers_allowed();         // SAMPAN_MARKERS is not 0
const char* trace_key_file();   // SAMPAN_TRACE_KEY_FILE; null: none
const char* session_name();     // null: none
void set_session_name(const char* name);
// Takes the session and the shim out of this process' environment, which the program that it emulates gets.
void hide_from_guest();
// Puts it into this process' environment, for images that the program executes past us (system).
void show_session();
const char* shim_path();

// For an image that the program executes with the environment `given`: the same environment with
// the session in it (`profiled`), or without any trace of it. `runtime`: is to be loaded before the shim; "" if
// there is none. It is made in the caller's memory, so
// that a vfork child can use its stack, and points into `given`.
struct EnvironmentSize {
  size_t pointers;
  size_t text;
};
EnvironmentSize size_of_environment(char* const* given);
char* const* make_environment(char* const* given, bool profiled, const char* runtime,
                              std::span<char*> pointers, std::span<char> text);

}  // namespace sampan::preload
