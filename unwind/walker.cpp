#include "unwind/walker.h"

#include <cerrno>
#include <cstring>

#include "base/syscall.h"
#include "unwind/stack_walk.h"

namespace sampan::unwind {

namespace {

// The number of a call that copies memory from the user before it finds that its first argument is invalid.
std::atomic<long> question = SYS_rt_sigprocmask;

// qemu, which runs programs of other processors, looks at the first argument of rt_sigprocmask first.
void choose_question() {
  constexpr uint64_t kNeverMapped = kEndOfUserSpace - 4096;
  if (is_mapped(kNeverMapped)) question.store(SYS_setitimer, std::memory_order_relaxed);
}

}  // namespace

// EFAULT for a page that cannot be read, and EINVAL for one that can. Nothing changes (kernel/signal.c,
// kernel/time/itimer.c; abseil's AddressIsReadable does the same).
bool is_mapped(uint64_t page) {
  constexpr long kNoSuchHow = -1;
  constexpr size_t kKernelSetSize = 8;
  const long number = question.load(std::memory_order_relaxed);
  return raw_syscall(number, kNoSuchHow, page, 0, kKernelSetSize) != -EFAULT;
}

// The memory of our own process, for a walk. The thread's stack is read directly; any other page
// (fibers, alternate stacks) only after the kernel has said that it is readable. So no read faults.
// On the walking thread's stack. Not in an anonymous namespace: GCC would inline more of the walk,
// which would need more stack.
class StackMemory {
 public:
  explicit StackMemory(const StackBounds& bounds) : bounds_(bounds) {}

  // [low, high) is stack that `load` may read.
  bool covers(uint64_t low, uint64_t high) const {
    return low >= bounds_.low && high <= bounds_.high && low <= high;
  }
  static uint64_t load(uint64_t avma) {
    uint64_t value;
    std::memcpy(&value, reinterpret_cast<const void*>(avma), sizeof(value));
    return value;
  }

  bool read(uint64_t avma, uint64_t& value) {
    if (!covers(avma, avma + sizeof(value)) &&
        !(readable(avma) && readable(avma + sizeof(value) - 1))) {
      return false;
    }
    value = load(avma);
    return true;
  }

  bool read_code(uint64_t avma, uint64_t& value) { return read(avma, value); }
  bool may_read_code() const { return bounds_.may_probe; }

  // Whether the page of `avma` can be read. The kernel is asked about the same few pages once:
  // those of a stack that is not the thread's, and of code that recurses.
  bool readable(uint64_t avma) {
    if (avma < kPageSize || avma > kMaxAddress)
      return false;  // the kernel does not read a null set
    const uint64_t page = avma & ~(kPageSize - 1);
    uint64_t& known = readable_pages_[avma / kPageSize % kKnownPages];
    if (known == page) return true;
    if (!bounds_.may_probe || !is_mapped(page)) return false;
    known = page;
    return true;
  }

 private:
  static constexpr uint64_t kPageSize = 4096;
  static constexpr uint64_t kMaxAddress = kEndOfUserSpace - kPageSize;
  static constexpr size_t kKnownPages = 3;

  StackBounds bounds_;
  uint64_t readable_pages_[kKnownPages] = {};
};

bool Walker::start(FindObject* find_object) {
  choose_question();
  modules_.start(find_object);
  return cache_.rows.start();
}

WalkResult Walker::walk(const Registers& registers, const StackBounds& stack,
                        std::span<uint64_t> frames, LastWalk* last, uint64_t* cfas) {
  StackMemory memory(stack);
  // Sequentially consistent, as begin_unload is: either this walk sees the unloading, or the caller
  // of begin_unload sees that the thread is walking.
  const bool may_read_modules = !unloading();
  StackWalk<StackMemory, ModuleFinder> walk(memory, modules_, cache_, may_read_modules);
  return walk.run(registers, frames, last, kAllRegisters, cfas);
}

void Walker::begin_unload() {
  unloading_.fetch_add(1, std::memory_order_seq_cst);
}

void Walker::end_unload() {
  modules_.refresh();
  cache_.rows.forget();
  unloading_.fetch_sub(1, std::memory_order_seq_cst);
}

void Walker::after_fork(uint32_t unloadings) {
  modules_.after_fork(unloadings != 0);
  if (unloadings == 0) return;
  cache_.rows.forget();
  unloading_.fetch_sub(unloadings, std::memory_order_seq_cst);
}

void Walker::modules_loaded() {
  modules_.refresh();
}

}  // namespace sampan::unwind
