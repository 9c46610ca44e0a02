// A library with every kind of reference that handler_closure.py follows: its self-test.
#include <cstdlib>

namespace {

volatile int sink;

[[gnu::noinline]] void called() {
  sink = 1;
}
[[gnu::noinline]] void jumped_to() {
  sink = 2;
}
[[gnu::noinline]] void address_taken() {
  sink = 3;
}
[[gnu::noinline]] void in_table() {
  sink = 4;
}
[[gnu::noinline]] void in_table_behind_pointer() {
  sink = 5;
}
[[gnu::noinline]] void in_other_table() {
  sink = 6;
}

using Act = void (*)();
constexpr Act kInner[] = {in_table_behind_pointer, abort};
struct Table {
  Act act;
  const Act* inner;
};
constexpr Table kTable[] = {{in_table, kInner}, {nullptr, nullptr}};
constexpr Act kOther[] = {in_other_table};
volatile Act chosen;

}  // namespace

extern "C" __attribute__((visibility("default"))) void unreached(int which) {
  kOther[which]();
  exit(1);
}

extern "C" __attribute__((visibility("default"))) void entry(int which) {
  called();
  chosen = address_taken;
  kTable[which].act();
  free(getenv("A"));
  asm volatile("" ::: "memory");
  jumped_to();
}
