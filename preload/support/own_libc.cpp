// Functions of the C library that the compiler and the shim call, as the shim's own: hidden, so that no call of the
// handler goes through the PLT. There the runtime of a sanitizer may stand, which takes the call for one of the
// program's: it reports a race, or a signal handler that is not safe. And a program may define any of them itself, for when
// it has begun: the shim is there before.
#include <time.h>

#include <cstddef>
#include <cstdint>

#include "base/syscall.h"
#include "preload/support/machine.h"
#include "preload/support/vdso.h"

#define SAMPAN_OWN extern "C" __attribute__((visibility("hidden"), used))

// The compiler declares these itself, and would export them.
#ifndef SAMPAN_OWN_LIBC_TEST
#define SAMPAN_NAME(name) asm(".globl " #name "\n.hidden " #name "\n.set " #name ", own_" #name)
SAMPAN_NAME(memcpy);
SAMPAN_NAME(memmove);
SAMPAN_NAME(memset);
SAMPAN_NAME(memcmp);
SAMPAN_NAME(bcmp);  // clang calls it where the order does not matter
SAMPAN_NAME(strlen);
SAMPAN_NAME(strcpy);
SAMPAN_NAME(stpcpy);
SAMPAN_NAME(strcmp);
SAMPAN_NAME(strncmp);
SAMPAN_NAME(strnlen);
SAMPAN_NAME(strchr);
SAMPAN_NAME(strchrnul);
SAMPAN_NAME(strrchr);
SAMPAN_NAME(strcspn);
SAMPAN_NAME(strstr);
SAMPAN_NAME(clock_gettime);
#endif

namespace {

constexpr size_t kWord = sizeof(uint64_t);

// Keeps the compiler from taking the loop around it for a call of the function that the loop is in.
inline void no_idiom() {
  asm volatile("" ::: "memory");
}

template <typename T>
inline void copy_at(void* to, const void* from, size_t at) {
  T value;
  __builtin_memcpy(&value, static_cast<const char*>(from) + at, sizeof value);
  __builtin_memcpy(static_cast<char*>(to) + at, &value, sizeof value);
}

}  // namespace

SAMPAN_OWN void* own_memcpy(void* __restrict to, const void* __restrict from,
                            size_t size) noexcept {
  size_t at = 0;
  for (; size - at >= kWord; at += kWord) {
    copy_at<uint64_t>(to, from, at);
    no_idiom();
  }
  for (; at < size; ++at) {
    copy_at<uint8_t>(to, from, at);
    no_idiom();
  }
  return to;
}

SAMPAN_OWN void* own_memmove(void* to, const void* from, size_t size) noexcept {
  if (reinterpret_cast<uintptr_t>(to) - reinterpret_cast<uintptr_t>(from) >= size) {
    return own_memcpy(to, from, size);  // forwards: it never reads what it has written
  }
  for (size_t left = size; left > 0; --left) {
    copy_at<uint8_t>(to, from, left - 1);
    no_idiom();
  }
  return to;
}

SAMPAN_OWN void* own_memset(void* to, int value, size_t size) noexcept {
  sampan::preload::fill(to, value, size);
  return to;
}

SAMPAN_OWN int own_memcmp(const void* a, const void* b, size_t size) noexcept {
  const auto* left = static_cast<const uint8_t*>(a);
  const auto* right = static_cast<const uint8_t*>(b);
  for (size_t at = 0; at < size; ++at) {
    if (left[at] != right[at]) return left[at] - right[at];
    no_idiom();
  }
  return 0;
}

SAMPAN_OWN int own_bcmp(const void* a, const void* b, size_t size) noexcept {
  return own_memcmp(a, b, size);
}

SAMPAN_OWN size_t own_strlen(const char* text) noexcept {
  size_t size = 0;
  for (; text[size] != '\0'; ++size) no_idiom();
  return size;
}

SAMPAN_OWN char* own_stpcpy(char* __restrict to, const char* __restrict from) noexcept {
  for (; (*to = *from) != '\0'; ++to, ++from) no_idiom();
  return to;
}

SAMPAN_OWN char* own_strcpy(char* __restrict to, const char* __restrict from) noexcept {
  own_stpcpy(to, from);
  return to;
}

SAMPAN_OWN int own_strncmp(const char* a, const char* b, size_t most) noexcept {
  for (size_t at = 0; at < most; ++at) {
    const auto left = static_cast<uint8_t>(a[at]), right = static_cast<uint8_t>(b[at]);
    if (left != right) return left - right;
    if (left == 0) break;
    no_idiom();
  }
  return 0;
}

SAMPAN_OWN int own_strcmp(const char* a, const char* b) noexcept {
  return own_strncmp(a, b, SIZE_MAX);
}

SAMPAN_OWN size_t own_strnlen(const char* text, size_t most) noexcept {
  size_t size = 0;
  for (; size < most && text[size] != '\0'; ++size) no_idiom();
  return size;
}

SAMPAN_OWN char* own_strchrnul(const char* text, int letter) noexcept {
  for (; *text != '\0' && *text != static_cast<char>(letter); ++text) no_idiom();
  return const_cast<char*>(text);
}

SAMPAN_OWN char* own_strchr(const char* text, int letter) noexcept {
  char* const found = own_strchrnul(text, letter);
  return *found == static_cast<char>(letter) ? found : nullptr;
}

SAMPAN_OWN char* own_strrchr(const char* text, int letter) noexcept {
  const char* found = nullptr;
  for (;; ++text) {
    if (*text == static_cast<char>(letter)) found = text;
    if (*text == '\0') return const_cast<char*>(found);
    no_idiom();
  }
}

SAMPAN_OWN size_t own_strcspn(const char* text, const char* letters) noexcept {
  size_t size = 0;
  for (; text[size] != '\0' && own_strchr(letters, text[size]) == nullptr; ++size) no_idiom();
  return size;
}

SAMPAN_OWN char* own_strstr(const char* text, const char* part) noexcept {
  const size_t size = own_strlen(part);
  for (;; ++text) {
    if (own_strncmp(text, part, size) == 0) return const_cast<char*>(text);
    if (*text == '\0') return nullptr;
  }
}

SAMPAN_OWN int own_clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (sampan::preload::VdsoClock* const read = sampan::preload::vdso_clock)
    return read(clock, time);
  return static_cast<int>(sampan::raw_syscall(SYS_clock_gettime, clock, time));
}
