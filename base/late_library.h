// A shared library that few commands need, loaded by the first that does. Linked, the network's
// libraries and all of theirs would cost every start of sampan more than the rest of it.
//
// Hosted only.
#pragma once

#include <dlfcn.h>

#include "base/error.h"

namespace sampan {

// Stays loaded to the end: threads of its own may be in it.
class LateLibrary {
 public:
  // `package`: Debian's, for the sentence of the Error where there is no such library.
  LateLibrary(const char* soname, const char* package)
      : soname_(soname), handle_(dlopen(soname, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) throw Error("{} cannot be loaded (Debian: {})", soname, package);
  }

  // An address, for a pointer to whatever function is there.
  struct Symbol {
    void* address;
    template <typename Function>
    operator Function*() const {
      return reinterpret_cast<Function*>(address);
    }
  };
  // Throws Error where the library has no such function.
  Symbol operator[](const char* name) const {
    void* const address = dlsym(handle_, name);
    if (address == nullptr) throw Error("{} has no {}", soname_, name);
    return {address};
  }

 private:
  const char* soname_;
  void* handle_;
};

}  // namespace sampan
