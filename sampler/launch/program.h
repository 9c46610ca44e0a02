// The program of a command: which file it is, as execvp finds it, and whether the loader will load
// the shim into it. Otherwise the program runs all the same, and is sampled from outside if that is
// permitted.
#pragma once

#include <string>
#include <vector>

namespace sampan::sampler {

// The file that runs when `word` is executed: itself when it has a slash, else the first executable
// of that name in PATH. "" when there is none.
std::string find_program(const std::string& word);

// The program that interprets `path` in the end ("#!/usr/bin/env python3"); `path` itself for a
// binary. "" when an interpreter is missing; `missing` is its name then.
std::string resolve_interpreter(const std::string& path, std::string& missing);

enum class Preload {
  kYes,
  kOtherMachine,  // for another processor
  kStatic,
  kMusl,
  kOtherRights,  // setuid, setgid, capabilities
  kEmulator,     // static, and runs another program inside itself
  kShows,        // the loader, which runs no program: ld.so --list
};

struct Preloadability {
  Preload kind = Preload::kYes;
  std::string reason;  // a sentence without its full stop; "" for kYes

  // Its loader would complain about the shim or list it, or end the program, or it is another program's: do not preload.
  bool refuses() const {
    return kind == Preload::kOtherMachine || kind == Preload::kMusl || kind == Preload::kEmulator ||
           kind == Preload::kShows;
  }
};

// `path` is a binary or a script. `command`: with its arguments.
Preloadability preloadability(const std::string& path,
                              const std::vector<std::string>& command = {});

// The library that must be loaded before the shim (base/sanitizer_runtime.h); "" if there is none. `path` is a binary or
// a script.
std::string runtime_before_shim(const std::string& path);

}  // namespace sampan::sampler
