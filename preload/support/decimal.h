// Numbers as text: the tables of std::to_chars would be exported. Async-signal-safe. Freestanding: linked into the target.
#pragma once

namespace sampan::preload {

// Writes a number that is not negative, and a zero byte: at most 11 bytes.
inline void write_decimal(char* text, int number) {
  char digits[10];
  int count = 0;
  do {
    digits[count++] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  while (count > 0) *text++ = digits[--count];
  *text = '\0';
}

}  // namespace sampan::preload
