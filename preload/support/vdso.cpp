#include "preload/support/vdso.h"

#include "preload/support/interpose.h"

namespace sampan::preload {

void find_vdso_clock() {
  void* const vdso = SAMPAN_NEXT(dlopen)("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (vdso == nullptr) return;
  vdso_clock = reinterpret_cast<VdsoClock*>(dlsym(vdso, "__vdso_clock_gettime"));
}

}  // namespace sampan::preload
