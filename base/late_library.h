// A shared library that few commands need, loaded on first use. If they were linked, the network
// libraries and their dependencies would take longer to load than everything else at every start.
//
// Hosted only.
#pragma once

#include <dlfcn.h>

#include "base/error.h"

namespace sampan {

// Stays loaded until the process ends: the library may have threads.
class LateLibrary {
 public:
  // The packages of Debian (apt takes these names, too, where they end in t64) and of Fedora, for the Error
  // when the library is missing.
  LateLibrary(const char* soname, const char* debian, const char* fedora)
      : soname_(soname), handle_(dlopen(soname, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ != nullptr) return;
    throw Error("{} cannot be loaded: install {} (Debian, Ubuntu) or {} (Fedora, RHEL)", soname,
                debian, fedora);
  }

  // An address that converts to a pointer to any function.
  struct Symbol {
    void* address;
    template <typename Function>
    operator Function*() const {
      return reinterpret_cast<Function*>(address);
    }
  };
  // Throws Error when the library has no such function.
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
