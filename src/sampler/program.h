// Where a command's program is, as execvp would find it, and which one a process executes.
#pragma once

#include <sys/types.h>

#include <string>

namespace sampan::sampler {

// The file that runs when `word` is executed: itself when it has a slash, else the first executable
// of that name in PATH. "" when there is none.
std::string find_program(const std::string& word);

// "#!/usr/bin/env python3" and the like: the program that in the end interprets `path`; `path`
// itself for a binary. "" when an interpreter is missing, which is then `missing`.
std::string resolve_interpreter(const std::string& path, std::string& missing);

// The program that `pid` executes: as /proc/PID/exe has it, without the kernel's " (deleted)"; "pid
// N" where it may not be read.
std::string executable_of(pid_t pid);

}  // namespace sampan::sampler
