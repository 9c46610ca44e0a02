#include "preload/process/seccomp_filter.h"

#include <gtest/gtest.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <vector>

namespace sampan::preload {
namespace {

using Program = std::vector<sock_filter>;

constexpr uint32_t kNumber = offsetof(seccomp_data, nr);

TEST(SeccompFilter, AllowsAndLogs) {
  for (const auto& [answer, allowed] : {std::pair{SECCOMP_RET_ALLOW, true},
                                        {SECCOMP_RET_LOG, true},
                                        {SECCOMP_RET_TRACE, false},
                                        {SECCOMP_RET_ERRNO, false},
                                        {SECCOMP_RET_USER_NOTIF, false},
                                        {SECCOMP_RET_TRAP, false},
                                        {SECCOMP_RET_KILL_THREAD, false},
                                        {SECCOMP_RET_KILL_PROCESS, false}}) {
    EXPECT_EQ(filter_allows(Program{BPF_STMT(BPF_RET | BPF_K, answer | 7)}, SYS_rt_sigreturn),
              allowed);
  }
}

TEST(SeccompFilter, TellsCallsApart) {
  const Program program{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kNumber),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 5, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, instruction_pointer) + 4),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 9, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO),
  };
  EXPECT_FALSE(filter_allows(program, SYS_rt_sigreturn));
  EXPECT_FALSE(filter_allows(program, SYS_clock_gettime));
  EXPECT_TRUE(filter_allows(program, SYS_clock_gettime, 5));
  EXPECT_TRUE(filter_allows(program, SYS_clock_gettime, 0, uint64_t{9} << 32));
}

TEST(SeccompFilter, ADamagedProgramAllowsNothing) {
  const sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  for (const sock_filter wrong : {
           sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, sizeof(seccomp_data)),
           sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, UINT32_MAX - 3),
           sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 2),
           sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_IND, 0),
           sock_filter BPF_STMT(BPF_LD | BPF_MEM, BPF_MEMWORDS),
           sock_filter BPF_STMT(BPF_ST, BPF_MEMWORDS),
           sock_filter BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 0),
           sock_filter BPF_STMT(BPF_JMP | BPF_JA, UINT32_MAX),
           sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 1),
       }) {
    EXPECT_EQ(filter_answer(Program{wrong, allow}, {}), SECCOMP_RET_KILL_PROCESS);
  }
  EXPECT_EQ(filter_answer({}, {}), SECCOMP_RET_KILL_PROCESS);
}

// What the kernel answers, as an errno: every program here ends in SECCOMP_RET_ERRNO or ALLOW.
int kernel_answer(const Program& program, long number, long argument) {
  int pipes[2];
  if (pipe(pipes) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    const sock_fprog request{static_cast<unsigned short>(program.size()),
                             const_cast<sock_filter*>(program.data())};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    int answer = -1;
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &request) == 0) {
      errno = 0;
      answer = syscall(number, argument) < 0 ? errno : 0;
    }
    (void)!write(pipes[1], &answer, sizeof answer);
    syscall(SYS_exit_group, 0);
  }
  int answer = -2;
  close(pipes[1]);
  (void)!read(pipes[0], &answer, sizeof answer);
  close(pipes[0]);
  waitpid(child, nullptr, 0);
  return answer;
}

// Programs of random instructions, which the kernel and we run. All calls but one are allowed.
TEST(SeccompFilter, AnswersAsTheKernelDoes) {
  std::mt19937 engine(4711);
  const auto random = [&] { return static_cast<uint32_t>(engine()); };
  int forbidden = 0, compared = 0;
  for (int i = 0; i < 60; ++i) {
    Program program{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kNumber),
                    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpgid, 1, 0),
                    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW), BPF_STMT(BPF_ST, 0),
                    BPF_STMT(BPF_ST, 1)};
    const uint16_t kinds[] = {BPF_LD | BPF_W | BPF_ABS,
                              BPF_LD | BPF_IMM,
                              BPF_LDX | BPF_IMM,
                              BPF_LD | BPF_MEM,
                              BPF_LDX | BPF_MEM,
                              BPF_LD | BPF_W | BPF_LEN,
                              BPF_LDX | BPF_W | BPF_LEN,
                              BPF_ST,
                              BPF_STX,
                              BPF_ALU | BPF_ADD,  // BPF_K is 0, as BPF_ADD is
                              BPF_ALU | BPF_SUB | BPF_X,
                              BPF_ALU | BPF_MUL | BPF_K,
                              BPF_ALU | BPF_DIV | BPF_K,
                              BPF_ALU | BPF_AND | BPF_X,
                              BPF_ALU | BPF_OR | BPF_K,
                              BPF_ALU | BPF_XOR | BPF_K,
                              BPF_ALU | BPF_LSH | BPF_K,
                              BPF_ALU | BPF_RSH | BPF_K,
                              BPF_ALU | BPF_NEG,
                              BPF_MISC | BPF_TAX,
                              BPF_MISC | BPF_TXA,
                              BPF_JMP | BPF_JEQ | BPF_K,
                              BPF_JMP | BPF_JGT | BPF_X,
                              BPF_JMP | BPF_JGE | BPF_K,
                              BPF_JMP | BPF_JSET | BPF_K,
                              BPF_JMP | BPF_JA};
    for (int length = 0; length < 30; ++length) {
      const uint16_t code = kinds[random() % std::size(kinds)];
      uint32_t k = random() % 7;
      if (code == (BPF_LD | BPF_W | BPF_ABS))
        k = random() % 6 * 4;  // not the instruction pointer's upper half
      if (code == (BPF_LD | BPF_W | BPF_ABS) && (k == 8 || k == 12)) k = 16;
      const bool of_memory = BPF_CLASS(code) == BPF_ST || BPF_CLASS(code) == BPF_STX ||
                             (BPF_CLASS(code) <= BPF_LDX && BPF_MODE(code) == BPF_MEM);
      if (of_memory) k %= 2;
      if (code == (BPF_ALU | BPF_DIV | BPF_K)) ++k;
      if (code == (BPF_JMP | BPF_JA)) k %= 3;
      program.push_back(
          {code, static_cast<uint8_t>(random() % 4), static_cast<uint8_t>(random() % 4), k});
      if (BPF_CLASS(code) != BPF_JMP) program.back().jt = program.back().jf = 0;
    }
    for (int end = 0; end < 3; ++end) {
      program.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 1));
      program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 1));
      program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 99));
    }
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    const int answer = kernel_answer(program, SYS_getpgid, 0);
    if (answer < 0) continue;  // the kernel refuses the program: memory that may be unset
    ++compared;
    forbidden += answer == 99;
    EXPECT_EQ(filter_allows(program, SYS_getpgid), answer != 99) << "program " << i;
  }
  EXPECT_GT(compared, 20);
  EXPECT_GT(forbidden, 5);
  EXPECT_LT(forbidden, compared);
}

}  // namespace
}  // namespace sampan::preload
