// A program whose own definitions of the C library's functions work from main() on, as those of Lisp systems do that begin
// with the image of a heap. What calls one of them before ends it with 66.
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

namespace {

bool is_ready;
alignas(16) char memory[1 << 20];
size_t used;

void need(const char* function) {
  if (is_ready) return;
  size_t size = 0;
  while (function[size] != '\0') ++size;
  (void)!write(STDERR_FILENO, function, size);
  (void)!write(STDERR_FILENO, " before main\n", 13);
  _exit(66);
}

void* take(const char* function, size_t size) {
  need(function);
  used += (size + 15) / 16 * 16;
  return used <= sizeof memory ? memory + used - (size + 15) / 16 * 16 : nullptr;
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default"), used))

EXPORT void* malloc(size_t size) {
  return take("malloc", size);
}
EXPORT void* calloc(size_t count, size_t size) {
  return take("calloc", count * size);  // never freed: zeroes
}
EXPORT void* realloc(void*, size_t size) {
  return take("realloc", size);
}
EXPORT void free(void*) {}

// Not called by this program.
EXPORT char* getenv(const char*) noexcept {
  need("getenv");
  return nullptr;
}
EXPORT int setenv(const char*, const char*, int) noexcept {
  need("setenv");
  return 0;
}
EXPORT unsigned long getauxval(unsigned long) noexcept {
  need("getauxval");
  return 0;
}
EXPORT char* getcwd(char*, size_t) noexcept {
  need("getcwd");
  return nullptr;
}
EXPORT char* dlerror() noexcept {
  need("dlerror");
  return nullptr;
}
EXPORT void* dlsym(void*, const char*) noexcept {
  need("dlsym");
  return nullptr;
}

int main() {
  is_ready = true;
  work::burn(0.3);
  puts("ready");
  return 0;
}
