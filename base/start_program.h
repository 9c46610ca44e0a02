// Starts a program as a child process. Hosted only.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace sampan {

// Descriptors for what it prints; -1: nobody reads it.
struct ProgramOutput {
  int out = -1, err = -1;
};

// `program` is a path or is looked up in PATH; words[0] is the name that it sees. It reads nothing. No signal is blocked in
// it, and SIGPIPE ends it, whatever they do here. Throws Error, also if there is no such program. The caller waits for it.
pid_t start_program(const std::string& program, std::vector<std::string> words,
                    ProgramOutput output);

}  // namespace sampan
