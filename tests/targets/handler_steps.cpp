// Steps through sampan's signal handler in a process that is being sampled, instruction by instruction, and prints which
// files have the code that it executes: lines "FILE INSTRUCTIONS". Exits with 0 after SAMPLES of them.
//
//   handler_steps PID SAMPLES
#include <elf.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Range {
  uint64_t start, end;
  std::string file;
};

std::vector<Range> code_of(pid_t pid) {
  std::vector<Range> ranges;
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    Range range;
    char dash = 0;
    std::string rights, offset, device, inode;
    std::istringstream(line) >> std::hex >> range.start >> dash >> range.end >> rights >> offset >>
        device >> inode >> range.file;
    if (rights.size() == 4 && rights[2] == 'x') ranges.push_back(range);
  }
  return ranges;
}

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::exit(1);
}

class Steps {
 public:
  explicit Steps(pid_t pid) : pid_(pid), code_(code_of(pid)) {
    if (ptrace(PTRACE_SEIZE, pid, 0, 0) != 0) give_up("PTRACE_SEIZE");
  }

  // Until the handler has returned from so many samples.
  void follow(int samples) {
    while (samples > 0) {
      const int signal = wait_for_stop();
      siginfo_t info;
      const bool is_sample = ptrace(PTRACE_GETSIGINFO, pid_, 0, &info) == 0 && is_of_a_clock(info);
      if (is_sample) {
        step_until_return(signal);
        --samples;
      }
      ptrace(PTRACE_CONT, pid_, 0, is_sample || signal == SIGTRAP ? 0 : signal);
    }
  }

  void print() const {
    for (const auto& [file, count] : executed_) std::printf("%s %llu\n", file.c_str(), count);
  }

 private:
  static bool is_of_a_clock(const siginfo_t& info) {
    const bool is_ours = info.si_signo == SIGPROF || info.si_signo == SIGSTKFLT;
    return is_ours &&
           (info.si_code == SI_TIMER || info.si_code == POLL_IN || info.si_code == POLL_HUP);
  }

  int wait_for_stop() {
    int status = 0;
    if (waitpid(pid_, &status, __WALL) != pid_) give_up("waitpid");
    if (!WIFSTOPPED(status)) {
      std::fprintf(stderr, "the process has ended\n");
      std::exit(1);
    }
    return WSTOPSIG(status);
  }

  user_regs_struct registers() {
    user_regs_struct found{};
    if (ptrace(PTRACE_GETREGS, pid_, 0, &found) != 0) give_up("PTRACE_GETREGS");
    return found;
  }

  void step_until_return(int signal) {
    for (;; signal = 0) {
      if (ptrace(PTRACE_SINGLESTEP, pid_, 0, signal) != 0) give_up("PTRACE_SINGLESTEP");
      wait_for_stop();
      const user_regs_struct at = registers();
      ++executed_[file_of(at.rip)];
      constexpr long kSyscall = 0x050f;
      const long word = ptrace(PTRACE_PEEKTEXT, pid_, at.rip, 0);
      if ((word & 0xffff) == kSyscall && at.rax == SYS_rt_sigreturn) return;
    }
  }

  std::string file_of(uint64_t address) const {
    for (const Range& range : code_) {
      if (address >= range.start && address < range.end)
        return range.file.empty() ? "[none]" : range.file;
    }
    return "[unknown]";
  }

  pid_t pid_;
  std::vector<Range> code_;
  std::map<std::string, unsigned long long> executed_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  Steps steps(std::atoi(argv[1]));
  steps.follow(std::atoi(argv[2]));
  steps.print();
}
