// The allocator of the program: the next definitions of malloc and its relatives, of the C library or of
// another library (jemalloc, mimalloc, tcmalloc) that the program brings, and those of mmap.
//
// They are looked up by the first call of any of them, before the program begins.
//
// Freestanding: linked into the target.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace sampan::preload {

struct Allocator {
  void* (*malloc)(size_t);
  void* (*calloc)(size_t, size_t);
  void* (*realloc)(void*, size_t);
  void (*free)(void*);
  void* (*aligned_alloc)(size_t, size_t);
  int (*posix_memalign)(void**, size_t, size_t);
  void* (*memalign)(size_t, size_t);
  void* (*valloc)(size_t);
  void* (*pvalloc)(size_t);
  void* (*mmap)(void*, size_t, int, int, int, off_t);
  int (*munmap)(void*, size_t);
  void* (*mremap)(void*, size_t, size_t, int, ...);
};
// Never null: at first, functions that look up all of them.
extern constinit Allocator next_allocator;

// In the constructor.
void start_allocator();
// Whether the C library calls another malloc than ours: the program's own, or that of a library before this one.
// In the constructor, before allocations are sampled.
bool allocator_is_unseen();

// Whether this code is the allocator's, which maps memory for the blocks that it gives. False before the
// program begins, and for an allocator in the program's own file.
bool is_code_of_allocator(const void* code);

}  // namespace sampan::preload
