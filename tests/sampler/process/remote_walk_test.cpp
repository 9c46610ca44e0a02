// Walks stacks of other processes and compares them with the functions that are known to be on them.
// Only pc and stack pointer of waiting processes are known, and all registers of stopped ones.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>

#include <algorithm>

#include "child.h"
#include "habits.h"
#include "sampler/process/process_modules.h"
#include "sampler/process/remote_walker.h"
#include "unwind/cfi.h"
#include "unwind/module_finder.h"

namespace sampan::sampler {
namespace {

constexpr size_t kWholeStack = size_t{64} << 10;

struct Habit {
  std::string_view name;
  void (*begin)();
  std::vector<const void*> functions;
};

// The function that `pc` is in, by our own unwind information: the child has the same code.
const void* function_of(uint64_t pc) {
  static unwind::ModuleFinder finder = [] {
    unwind::ModuleFinder result;
    result.start(unwind::find_object_by_loader());
    return result;
  }();
  unwind::Module module;
  uint64_t fde = 0;
  uint64_t start = 0;
  uint64_t end = 0;
  if (!finder.find(pc, module) || find_fde(module, pc, fde) != unwind::CfiResult::kFound) {
    return nullptr;
  }
  read_coverage(module.image, fde, start, end);
  return reinterpret_cast<const void*>(start);
}

int64_t number_of(std::string_view call) {
  if (call == "futex") return SYS_futex;
  if (call == "epoll_wait") return SYS_epoll_wait;
  if (call == "read") return SYS_read;
  if (call == "clock_nanosleep") return SYS_clock_nanosleep;
  if (call == "poll") return SYS_poll;
  return SYS_pause;
}

struct Stack {
  std::vector<const void*> functions;  // outermost first
  wire::StopReason stop;
};

Stack stack_of(const unwind::WalkResult& result, const uint64_t* frames) {
  Stack stack;
  stack.stop = result.stop;
  for (uint32_t i = result.depth; i > 0; --i) stack.functions.push_back(function_of(frames[i - 1]));
  return stack;
}

unwind::Registers stopped_registers(pid_t pid) {
  user_regs_struct user{};
  EXPECT_EQ(ptrace(PTRACE_SEIZE, pid, 0, 0), 0);
  EXPECT_EQ(ptrace(PTRACE_INTERRUPT, pid, 0, 0), 0);
  waitpid(pid, nullptr, 0);
  EXPECT_EQ(ptrace(PTRACE_GETREGS, pid, 0, &user), 0);
  return {{user.rax, user.rdx, user.rcx, user.rbx, user.rsi, user.rdi, user.rbp, user.rsp, user.r8,
           user.r9, user.r10, user.r11, user.r12, user.r13, user.r14, user.r15, user.rip}};
}

bool contains(const std::vector<const void*>& all, const std::vector<const void*>& part) {
  return std::search(all.begin(), all.end(), part.begin(), part.end()) != all.end();
}

void expect_whole_stacks(const Habit& habit, size_t copied) {
  SCOPED_TRACE(habit.name);
  const Child child([&] { habit.begin(); });
  const BlockedCall call = child.wait_until_blocked(number_of(habit.name));
  ProcessModules modules(child.pid());
  EXPECT_TRUE(modules.refresh(0).problems.empty());
  RemoteWalker walker(modules);
  RemoteMemory memory;
  uint64_t frames[200];

  memory.copy_stack(child.pid(), call.sp, copied, true);
  const Stack blocked = stack_of(walker.walk_blocked(call.pc, call.sp, memory, frames), frames);
  EXPECT_TRUE(contains(blocked.functions, habit.functions));
  EXPECT_EQ(blocked.stop, wire::StopReason::kRoot);

  // A walk with all registers gives the true stack, through the C library to _start.
  const unwind::Registers registers = stopped_registers(child.pid());
  memory.copy_stack(child.pid(), Avma::at(registers.value[unwind::kRsp]), copied, true);
  const Stack stopped = stack_of(walker.walk(registers, memory, frames), frames);
  EXPECT_EQ(stopped.stop, wire::StopReason::kRoot);
  EXPECT_EQ(stopped.functions, blocked.functions);
}

std::vector<Habit> all_habits() {
  std::vector<Habit> all;
  for (const auto& h : with_frame_pointer::habits()) all.push_back({h.name, h.begin, h.functions});
  for (const auto& h : without_frame_pointer::habits()) {
    all.push_back({h.name, h.begin, h.functions});
  }
  return all;
}

TEST(RemoteWalk, FindsAllCallersOfEveryWait) {
  for (const Habit& habit : all_habits()) expect_whole_stacks(habit, kWholeStack);
}

TEST(RemoteWalk, ReadsOnWhereACopyEnds) {
  for (const Habit& habit : all_habits()) expect_whole_stacks(habit, 256);
}

TEST(RemoteWalk, SaysWhenTheStackWasNotCopied) {
  const auto& habit = without_frame_pointer::habits()[0];
  const Child child([&] { habit.begin(); });
  const BlockedCall call = child.wait_until_blocked(SYS_futex);
  ProcessModules modules(child.pid());
  modules.refresh(0);
  RemoteWalker walker(modules);
  RemoteMemory copied;
  uint64_t frames[200];
  std::vector<std::byte> bytes(1024);
  const iovec local{bytes.data(), bytes.size()};
  const iovec remote{reinterpret_cast<void*>(uint64_t{call.sp}), bytes.size()};
  ASSERT_EQ(process_vm_readv(child.pid(), &local, 1, &remote, 1, 0), 1024);
  copied.use_copy(call.sp, bytes);
  const unwind::WalkResult result = walker.walk_blocked(call.pc, call.sp, copied, frames);
  EXPECT_EQ(result.stop, wire::StopReason::kNotCopied);
  EXPECT_GT(result.depth, 0u);
}

// Waits for ever. The word 8 bytes below rsp is its CFA.
extern "C" void wait_with_cfa_in_red_zone();
asm(R"(
  .text
  .type wait_with_cfa_in_red_zone, @function
wait_with_cfa_in_red_zone:
  .cfi_startproc
  leaq 8(%rsp), %rax
  movq %rax, -8(%rsp)
  .cfi_escape 0x0f, 3, 0x77, 0x78, 0x06  # DW_CFA_def_cfa_expression: DW_OP_breg7 -8, DW_OP_deref
again:
  movl $34, %eax  # pause(2)
  syscall
  jmp again
  .cfi_endproc
  .size wait_with_cfa_in_red_zone, . - wait_with_cfa_in_red_zone
)");

[[gnu::noinline]] void call_what_waits() {
  wait_with_cfa_in_red_zone();
  asm volatile("");  // no tail call
}

TEST(RemoteWalk, FindsTheCallerThatTheRedZoneKeeps) {
  const Child child(call_what_waits);
  child.wait_until_blocked(SYS_pause);
  ProcessModules modules(child.pid());
  modules.refresh(0);
  RemoteWalker walker(modules);
  const unwind::Registers registers = stopped_registers(child.pid());
  const auto sp = Avma::at(registers.value[unwind::kRsp]);
  std::vector<std::byte> bytes(kWholeStack);
  bytes.resize(read_stack(child.pid(), sp, bytes));
  RemoteMemory memory;
  memory.use_copy(sp - kRedZone, bytes);
  uint64_t frames[200];
  const Stack stack = stack_of(walker.walk(registers, memory, frames), frames);
  EXPECT_EQ(stack.stop, wire::StopReason::kRoot);
  EXPECT_TRUE(
      contains(stack.functions, {reinterpret_cast<const void*>(call_what_waits),
                                 reinterpret_cast<const void*>(wait_with_cfa_in_red_zone)}));
}

TEST(ReadStack, BeginsAtTheStackPointerWhereNothingIsMappedBelow) {
  constexpr size_t kPage = 4096;
  auto* pages = static_cast<std::byte*>(
      mmap(nullptr, 4 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(mprotect(pages, 2 * kPage, PROT_NONE), 0);
  ASSERT_EQ(mprotect(pages + 3 * kPage, kPage, PROT_NONE), 0);
  std::byte* stack = pages + 2 * kPage;
  std::fill_n(stack, kPage, std::byte{7});
  std::vector<std::byte> bytes(kPage, std::byte{1});

  const auto sp = Avma::at(reinterpret_cast<uint64_t>(stack));
  EXPECT_EQ(read_stack(getpid(), sp, bytes), kPage);
  EXPECT_EQ(std::count(bytes.begin(), bytes.begin() + kRedZone, std::byte{0}), kRedZone);
  EXPECT_EQ(std::count(bytes.begin() + kRedZone, bytes.end(), std::byte{7}), kPage - kRedZone);
  EXPECT_EQ(read_stack(getpid(), sp + kPage - 8, bytes), kRedZone + 8);
  EXPECT_EQ(read_stack(getpid(), sp - kPage, bytes), 0u);
  munmap(pages, 4 * kPage);
}

}  // namespace
}  // namespace sampan::sampler
