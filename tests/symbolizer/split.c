// Functions that gcc splits and copies at -O2: parts of them have symbols of their own, as
// "split_checked.cold".
#include <stdint.h>

__attribute__((cold, noinline)) void split_report(int64_t value) {
  __asm__ volatile("" : : "r"(value));
}

__attribute__((noinline)) int64_t split_checked(int64_t value) {
  if (__builtin_expect(value < 0, 0)) {
    split_report(value);
    split_report(value * 3);
    return -1;
  }
  return value * 7 + 1;
}

__attribute__((noinline)) static int64_t split_scaled(const int64_t* value, int factor) {
  __asm__ volatile("" : : "r"(factor));
  return *value * factor;
}

int64_t split_copied(const int64_t* value) { return split_scaled(value, 3) + 1; }
