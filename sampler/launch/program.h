// Whether the loader will take the shim into a program. One where it does not runs all the same,
// and is sampled from outside where that is permitted.
#pragma once

#include <string>

namespace sampan::sampler {

enum class Preload {
  kYes,
  kOtherMachine,  // not x86-64
  kStatic,
  kMusl,
  kOtherRights,  // setuid, setgid, capabilities
};

struct Preloadability {
  Preload kind = Preload::kYes;
  std::string reason;  // a sentence without its full stop; "" for kYes

  // Its loader would complain about the shim, or end the program: it must not be asked.
  bool refuses() const { return kind == Preload::kOtherMachine || kind == Preload::kMusl; }
};

// `path` is a binary or a script.
Preloadability preloadability(const std::string& path);

}  // namespace sampan::sampler
