// A library that is built with markers, for tests/targets/markers.cpp to open.
#include <sampan/markers.h>

// Invalid notes: pointers that are outside the module, in code, or not aligned; a future version; a
// wrong size.
asm(R"(
  .pushsection .note.sampan_odd, "a", @note
  .balign 4
  .long 7, 8, 1
  .asciz "sampan"
  .balign 4
  .quad 0x7fffffffffff0000
  .long 7, 8, 1
  .asciz "sampan"
  .balign 4
  .quad odd_code - .
  .long 7, 8, 1
  .asciz "sampan"
  .balign 4
  .quad odd_pointers + 1 - .
  .long 7, 8, 99
  .asciz "sampan"
  .balign 4
  .quad odd_pointers - .
  .long 7, 4, 1
  .asciz "sampan"
  .balign 4
  .long 0
  .popsection
)");

extern "C" {
__attribute__((used, visibility("hidden"), aligned(8))) void* odd_pointers[2];
__attribute__((used, visibility("hidden"))) void odd_code() {}
}

extern "C" __attribute__((visibility("default"))) void say_something() {
  sampan::Section section("of the library");
  sampan_event("said by the library");
  if (odd_pointers[0] != nullptr || odd_pointers[1] != nullptr) sampan_event("connected wrongly");
}
