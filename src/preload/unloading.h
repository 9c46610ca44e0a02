// Around whatever may unmap a module: no stack may be walked through it at that moment.
//
// Ordinary context. Freestanding: linked into the target.
#pragma once

namespace sampan::preload {

// From construction to destruction, handlers walk with what they have in their cache and read no
// module. The constructor waits for those that are reading one now.
class Unloading {
 public:
  Unloading();
  ~Unloading();
  Unloading(const Unloading&) = delete;
  Unloading& operator=(const Unloading&) = delete;
};

// In a forked child: what other threads were unloading, nobody will end.
void unloading_after_fork();

}  // namespace sampan::preload
