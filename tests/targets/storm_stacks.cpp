// Storms on stacks other than the thread's: fibers and alternate signal stacks. Both are small, with
// a protected page below them so that an overflow crashes.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstring>

#include "storms.h"
#include "work.h"

namespace storm {
namespace {

constexpr size_t kPage = 4096;

char* guarded_stack(size_t size) {
  void* memory = mmap(nullptr, size + kPage, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  check(memory != MAP_FAILED && mprotect(memory, kPage, PROT_NONE) == 0, "memory for a stack");
  return static_cast<char*>(memory) + kPage;
}

// --- fibers

constexpr size_t kFiberStack = 16 << 10;
constexpr unsigned kFibers = 8;

struct Fiber {
  ucontext_t context;
  unsigned steps;
};
struct Ring {
  ucontext_t home;
  Fiber fibers[kFibers];
};

// Uses about 12 of the 16 KB.
__attribute__((noinline)) unsigned deep(unsigned depth) {
  volatile char frame[512];
  frame[0] = static_cast<char>(depth);
  const unsigned below = depth == 0 ? 0 : deep(depth - 1);
  check(frame[0] == static_cast<char>(depth), "a fiber's stack");
  return below + 1;
}

void run_fiber(unsigned low, unsigned high, unsigned index) {
  Ring& ring = *reinterpret_cast<Ring*>(uint64_t{high} << 32 | low);
  for (;;) {
    check(deep(20) == 21, "a fiber's recursion");
    ++ring.fibers[index].steps;
    swapcontext(&ring.fibers[index].context,
                index + 1 < kFibers ? &ring.fibers[index + 1].context : &ring.home);
  }
}

// --- alternate stacks

constexpr size_t kSignalStack = 8 << 10;
thread_local char* signal_stack = nullptr;
thread_local unsigned handled = 0;
thread_local sigjmp_buf way_out;
thread_local bool jump = false;

void on_signal(int, siginfo_t*, void*) {
  volatile char frame[1024];
  for (size_t i = 0; i < sizeof frame; ++i) frame[i] = static_cast<char>(i);
  const char* here = const_cast<const char*>(frame);
  check(here >= signal_stack && here < signal_stack + kSignalStack, "the alternate stack");
  work::spin(1, 20000);
  for (size_t i = 0; i < sizeof frame; ++i) {
    check(frame[i] == static_cast<char>(i), "the content of the alternate stack");
  }
  ++handled;
  if (jump) siglongjmp(way_out, 1);
}

}  // namespace

void swap() {
  static thread_local Ring ring;
  const auto address = reinterpret_cast<uint64_t>(&ring);
  char* stacks[kFibers];
  for (unsigned i = 0; i < kFibers; ++i) {
    Fiber& fiber = ring.fibers[i];
    stacks[i] = guarded_stack(kFiberStack);
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = stacks[i];
    fiber.context.uc_stack.ss_size = kFiberStack;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, reinterpret_cast<void (*)()>(run_fiber), 3,
                static_cast<unsigned>(address), static_cast<unsigned>(address >> 32), i);
  }
  unsigned rounds = 0;
  while (keep_on()) {
    swapcontext(&ring.home, &ring.fibers[0].context);
    ++rounds;
  }
  for (const Fiber& fiber : ring.fibers) check(fiber.steps == rounds, "the steps of a fiber");
  for (char* stack : stacks) munmap(stack - kPage, kFiberStack + kPage);
}

void interrupt() {
  signal_stack = guarded_stack(kSignalStack);
  stack_t stack{};
  stack.ss_sp = signal_stack;
  stack.ss_size = kSignalStack;
  check(sigaltstack(&stack, nullptr) == 0, "sigaltstack");
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGUSR1, &action, nullptr);
  unsigned sent = 0;
  while (keep_on()) {
    jump = sent % 4 == 3;
    ++sent;
    if (sigsetjmp(way_out, 1) == 0) raise(SIGUSR1);
    check(handled == sent, "the number of signals handled");
    stack_t now{};
    sigaltstack(nullptr, &now);
    check(now.ss_sp == signal_stack && now.ss_size == kSignalStack && now.ss_flags == 0,
          "the alternate stack that was set");
    work::spin(1, 20000);
  }
  stack.ss_flags = SS_DISABLE;
  check(sigaltstack(&stack, nullptr) == 0, "sigaltstack off");
  munmap(signal_stack - kPage, kSignalStack + kPage);
}

}  // namespace storm
