// LeakSanitizer looks for leaks within a callback of dl_iterate_phdr, while a tracer of its own has
// stopped all threads. Memory that registers or stacks point to counts as used. The thread that looks
// waits for the tracer in user space. A sample there would stand on the program's alternate stack: a lost
// one would look used, and so would all that the thread's own stack held before. So the thread is not
// sampled meanwhile.
#include <link.h>

#include "preload/process/process.h"
#include "preload/signals/sampling_signal.h"
#include "preload/support/interpose.h"

// Null in a program without LeakSanitizer.
extern "C" __attribute__((weak)) void __lsan_do_leak_check();

SAMPAN_EXPORT int dl_iterate_phdr(int (*callback)(dl_phdr_info*, size_t, void*), void* data) {
  using namespace sampan::preload;
  auto* const original = SAMPAN_NEXT(dl_iterate_phdr);
  if (__lsan_do_leak_check == nullptr || !signals_active() ||
      this_process.seccomp_filtered.load(std::memory_order_relaxed)) {
    return original(callback, data);
  }
  const uint64_t sampling = signal_bit(sampling_signal());
  const uint64_t blocked = change_kernel_mask(SIG_BLOCK, sampling);
  const int result = original(callback, data);
  change_kernel_mask(SIG_UNBLOCK, sampling & ~blocked);
  return result;
}
