// A program with an allocator of its own, as programs have that link one statically.
#include <cstddef>
#include <cstdio>
#include <cstring>

namespace {

alignas(16) char memory[1 << 20];
size_t used;
unsigned calls;

}  // namespace

extern "C" {

void* malloc(size_t size) {
  ++calls;
  const size_t at = used;
  used += (size + 31) / 16 * 16;
  if (used > sizeof memory) return nullptr;
  memcpy(memory + at, &size, sizeof size);
  return memory + at + 16;
}
void free(void*) {}
void* calloc(size_t count, size_t size) {
  return malloc(count * size);
}
void* realloc(void* block, size_t size) {
  void* const moved = malloc(size);
  size_t before = 0;
  if (block == nullptr || moved == nullptr) return moved;
  memcpy(&before, static_cast<char*>(block) - 16, sizeof before);
  return memcpy(moved, block, before < size ? before : size);
}
}

int main() {
  char* volatile text = strdup("its own");  // by the C library
  const bool is_ours = text >= memory && text < memory + sizeof memory && calls != 0;
  puts(is_ours ? text : "not its own");
  return is_ours ? 0 : 1;
}
