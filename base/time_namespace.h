// The offset of the time namespace that this process is in, from /proc (time_namespaces(7)). CRIU restores processes in such, and
// containers may have one.
//
// Freestanding: linked into the target.
#pragma once

#include <fcntl.h>

#include <cstdint>

#include "base/clock.h"
#include "base/syscall.h"

namespace sampan {

// Of the line "monotonic  SECONDS NANOSECONDS", which is the first.
inline int64_t monotonic_offset_ns(const char* text) {
  const auto number = [&text] {
    while (*text != '\0' && *text != '-' && (*text < '0' || *text > '9')) ++text;
    const bool negative = *text == '-';
    if (negative) ++text;
    int64_t value = 0;
    for (; *text >= '0' && *text <= '9'; ++text) value = value * 10 + (*text - '0');
    return negative ? -value : value;
  };
  const int64_t seconds = number();
  return seconds * 1'000'000'000 + number();
}

// Sets monotonic_ahead_ns. A process gets into a namespace by fork or exec, and keeps it.
inline void follow_time_namespace() {
  char text[128];
  const long fd =
      raw_syscall(SYS_openat, AT_FDCWD, "/proc/self/timens_offsets", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;  // a kernel before 5.6, or no /proc
  const long size = raw_syscall(SYS_read, fd, text, sizeof text - 1);
  raw_syscall(SYS_close, fd);
  if (size <= 0) return;
  text[size] = '\0';
  monotonic_ahead_ns.store(monotonic_offset_ns(text), std::memory_order_relaxed);
}

}  // namespace sampan
