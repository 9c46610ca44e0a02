// What every exec and posix_spawn has in common: the environment of the new image, and leaving this
// one in order.
//
// Safe in a vfork child: no memory but the caller's stack. Freestanding: linked into the target.
#pragma once

#include <alloca.h>

#include "preload/environment.h"

namespace sampan::preload {

// Whether images that this process executes concern us at all: it has joined a session.
bool hands_on_session();
// Whether the image `path` is to be profiled; counts what cannot be. `search`: along PATH.
// `spawned`: in a new process.
bool profiles_image(const char* path, bool search, bool spawned);

// Calls `call` with the environment that is right for the image.
template <typename F>
int with_environment(char* const* given, bool profiled, F&& call) {
  const EnvironmentSize size = size_of_environment(given);
  auto* pointers = static_cast<char**>(alloca(size.pointers * sizeof(char*)));
  auto* text = static_cast<char*>(alloca(size.text));
  return call(make_environment(given, profiled, {pointers, size.pointers}, {text, size.text}));
}

// This image is about to be replaced by `path`: everything is recorded, and nothing of ours may be
// pending that would end the new image. After a failed exec all goes on.
class Executing {
 public:
  explicit Executing(const char* path);
  ~Executing();  // exec has failed; errno is kept
  Executing(const Executing&) = delete;
  Executing& operator=(const Executing&) = delete;

 private:
  bool own_image_;  // not a vfork child's
};

}  // namespace sampan::preload
