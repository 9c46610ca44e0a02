// Whether the loader will take the shim into a program: it runs all the same when not, but nothing
// of it is sampled, and the person is told why.
#pragma once

#include <string>

namespace sampan::sampler {

// A sentence with the reason and what to do; "" for a program that can be preloaded. `path` is a
// binary or a script.
std::string why_not_preloadable(const std::string& path);

// The program's loader would complain about the shim, or end the program (musl, another machine):
// it must not be asked.
bool refuses_preload(const std::string& path);

}  // namespace sampan::sampler
