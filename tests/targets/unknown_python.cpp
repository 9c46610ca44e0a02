// What sampan takes for an interpreter, of a version that it does not know. It uses the CPU for a while,
// and with an argument it stays.
#include <unistd.h>

#include <ctime>

// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
[[gnu::visibility("default")]] extern const unsigned long Py_Version = 0x036300f0;  // 3.99
[[gnu::visibility("default")]] int PyCode_Type[104];
[[gnu::visibility("default")]] void* PyGILState_GetThisThreadState() {
  return PyCode_Type;
}
[[gnu::visibility("default"), gnu::noinline]] void spin() {
  const clock_t end = clock() + CLOCKS_PER_SEC / 5;
  while (clock() < end) {
  }
}
}
// NOLINTEND(readability-identifier-naming)

int main(int count, char**) {
  spin();
  if (count > 1) pause();
  return 0;
}
