#include "preload/support/vdso.h"

#include "preload/support/interpose.h"
#include "preload/support/machine.h"

namespace sampan::preload {

void find_vdso() {
  void* const vdso = SAMPAN_NEXT(dlopen)("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (vdso != nullptr) {
    vdso_clock = reinterpret_cast<VdsoClock*>(dlsym(vdso, kVdsoClockName));
    vdso_signal_return = reinterpret_cast<uint64_t>(dlsym(vdso, "__kernel_rt_sigreturn"));
  }
  // The program's first dlerror() is not to find what was looked for in vain.
  dlerror();
}

}  // namespace sampan::preload
