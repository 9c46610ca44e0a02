// The library that other targets load and unload.
#include <stdexcept>

#include "work.h"

extern "C" __attribute__((visibility("default"))) uint64_t burn_in_library(double seconds) {
  const double end = work::thread_cpu() + seconds;
  uint64_t value = 1;
  while (work::thread_cpu() < end) value = work::spin(value, 20000);
  return value;
}

extern "C" __attribute__((visibility("default"))) int twice_in_library(int value) {
  return value * 2;
}

extern "C" __attribute__((visibility("default"))) void throw_in_library(int value) {
  throw std::runtime_error(value % 2 == 0 ? "even" : "odd");
}
