// Each form of operator new and delete once, by sizes of its own. In a program, and in a library that brings the C++
// library into a program without one.
#include <cstdint>
#include <cstdio>
#include <new>

namespace {

thread_local void* volatile sink;
__attribute__((noinline)) void* used(void* block) {
  sink = block;
  return sink;
}

}  // namespace

// 0 if what has to fail fails as it should.
extern "C" __attribute__((visibility("default"))) int use_operators() {
  constexpr std::align_val_t kAlignment{64};
  ::operator delete(used(::operator new(6'001'000)));
  ::operator delete[](used(::operator new[](6'002'000)));
  ::operator delete(used(::operator new(6'003'000, std::nothrow)), std::nothrow);
  ::operator delete[](used(::operator new[](6'004'000, std::nothrow)), std::nothrow);
  ::operator delete (used(::operator new(6'005'000)), std::size_t{6'005'000});
  ::operator delete[](used(::operator new[](6'006'000)), std::size_t{6'006'000});
  // Multiples of the alignment: the C++ library rounds them up.
  ::operator delete(used(::operator new(6'400'000, kAlignment)), kAlignment);
  ::operator delete[](used(::operator new[](6'464'000, kAlignment)), kAlignment);
  ::operator delete(used(::operator new(6'528'000, kAlignment, std::nothrow)), kAlignment,
                    std::nothrow);
  ::operator delete[](used(::operator new[](6'592'000, kAlignment, std::nothrow)), kAlignment,
                      std::nothrow);
  ::operator delete (used(::operator new(6'656'000, kAlignment)), std::size_t{6'656'000},
                     kAlignment);
  used(::operator new(6'007'000));  // stays
  sink = nullptr;
  const std::size_t too_much = SIZE_MAX / 4 + reinterpret_cast<std::uintptr_t>(used(nullptr));
  if (::operator new(too_much, std::nothrow) != nullptr) return 1;
  if (::operator new[](too_much, kAlignment, std::nothrow) != nullptr) return 2;
  try {
    used(::operator new(too_much));
    return 3;
  } catch (const std::bad_alloc&) {
  }
  try {
    used(::operator new[](too_much, kAlignment));
    return 4;
  } catch (const std::bad_alloc&) {
  }
  return 0;
}
