// Moves a copy of its own code over the code that the kernel has mapped from its file, as programs do that want it on large pages.
// Prints "moved" and computes until its standard input ends.
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "work.h"

namespace {

// The first one is the program.
int move_code(dl_phdr_info* info, size_t, void*) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    const uintptr_t begin = (info->dlpi_addr + segment.p_vaddr) & ~(page - 1);
    const uintptr_t end =
        (info->dlpi_addr + segment.p_vaddr + segment.p_memsz + page - 1) & ~(page - 1);
    void* const copy =
        mmap(nullptr, end - begin, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED) return -1;
    std::memcpy(copy, reinterpret_cast<void*>(begin), end - begin);
    mprotect(copy, end - begin, PROT_READ | PROT_EXEC);
    return mremap(copy, end - begin, end - begin, MREMAP_MAYMOVE | MREMAP_FIXED,
                  reinterpret_cast<void*>(begin)) == MAP_FAILED
               ? -1
               : 1;
  }
  return -1;
}

__attribute__((noinline)) uint64_t moved_function(uint64_t value) {
  return work::spin(value, 100'000);
}

}  // namespace

int main() {
  if (dl_iterate_phdr(move_code, nullptr) != 1) return 1;
  std::puts("moved");
  std::fflush(stdout);
  pthread_t thread;
  pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        while (std::getchar() != EOF) continue;
        std::exit(0);
      },
      nullptr);
  for (uint64_t value = 1;;) value = moved_function(value);
}
