#include "target.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace target {

namespace {

[[gnu::noinline]] uint64_t return_address() {
  asm volatile("");
  return reinterpret_cast<uint64_t>(__builtin_return_address(0));
}

template <typename T>
struct Shape {
  [[gnu::always_inline]] static uint64_t inner(Call& call, T factor) {
    call.lines[0] = __LINE__ + 1;
    const uint64_t result = return_address();
    asm volatile("" : : "x"(factor));
    return result;
  }
};

[[gnu::always_inline]] inline void middle(Call& call) {
  call.lines[1] = __LINE__ + 1;
  call.return_avma = Shape<double>::inner(call, 2.0);
}

}  // namespace

[[gnu::noinline]] Call inlined_call() {
  Call call;
  call.lines[2] = __LINE__ + 1;
  middle(call);
  return call;
}

Call call_in_lambda() {
  Call call;
  const auto lambda = [&call]() __attribute__((noinline)) {
    call.lines[0] = __LINE__ + 1;
    call.return_avma = return_address();
    asm volatile("");
  };
  lambda();
  return call;
}

int use_templates(int seed) {
  std::map<std::string, std::vector<int>> table;
  for (int i = 0; i < 100; ++i) {
    std::vector<int>& row = table[std::to_string(i * seed % 17)];
    row.push_back(i);
    std::sort(row.begin(), row.end(), std::greater<>());
  }
  std::function<int(int)> sum = [&table](int start) {
    for (const auto& [name, row] : table) {
      start +=
          static_cast<int>(std::count_if(row.begin(), row.end(), [](int x) { return x % 3 == 0; }));
      start += name.empty() ? 1 : name[0];
    }
    return start;
  };
  return sum(seed);
}

}  // namespace target

extern "C" {

[[gnu::noinline]] int __target_alias_impl(int value) {
  asm volatile("" : "+r"(value));
  return value + 1;
}
[[gnu::alias("__target_alias_impl")]] int target_alias(int value);

}  // extern "C"

asm(R"(
    .text
    .globl target_asm_sized
    .type target_asm_sized, @function
target_asm_sized:
    .byte 0
target_label_in_sized:
    .byte 0
    .byte 0
    .size target_asm_sized, . - target_asm_sized
    .byte 0
    .byte 0
    .globl target_asm_without_size
    .type target_asm_without_size, @function
target_asm_without_size:
    .byte 0
    .byte 0
    .byte 0
)");
