#include "base/start_program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "base/error.h"
#include "base/file_descriptor.h"

namespace sampan {
namespace {

struct Said {
  std::string out;
  int status = -1;
};

Said run(const std::string& script, bool with_errors = false) {
  int ends[2] = {-1, -1};
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const FileDescriptor from(ends[0]);
  FileDescriptor to(ends[1]);
  const pid_t pid = start_program("sh", {"shell", "-c", script},
                                  {.out = to.get(), .err = with_errors ? to.get() : -1});
  to.reset();
  Said said;
  char buffer[4096];
  for (ssize_t size; (size = read(from.get(), buffer, sizeof buffer)) > 0;) {
    said.out.append(buffer, static_cast<size_t>(size));
  }
  EXPECT_EQ(waitpid(pid, &said.status, 0), pid);
  return said;
}

TEST(StartProgram, IsFoundInPathAndHasItsWords) {
  const Said said = run("echo $0; exit 3");
  EXPECT_EQ(said.out, "shell\n");
  EXPECT_EQ(WEXITSTATUS(said.status), 3);
}

TEST(StartProgram, ReadsNothingAndIsHeardWhereWanted) {
  EXPECT_EQ(run("read x || echo end; echo error >&2").out, "end\n");
  EXPECT_EQ(run("read x || echo end; echo error >&2", true).out, "end\nerror\n");
}

// proc(5), /proc/PID/status: SigBlk and SigIgn are masks; signal N is bit N - 1.
TEST(StartProgram, HasItsSignalsAsUsual) {
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  sigprocmask(SIG_BLOCK, &blocked, &before);
  const auto pipe_before = signal(SIGPIPE, SIG_IGN);
  const Said said =
      run("while read key mask; do case $key in SigBlk:) echo term $((0x$mask & 0x4000));; "
          "SigIgn:) echo pipe $((0x$mask & 0x1000));; esac; done < /proc/$$/status");
  signal(SIGPIPE, pipe_before);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(said.out, "term 0\npipe 0\n");
}

TEST(StartProgram, SaysThatThereIsNoSuchProgram) {
  try {
    start_program("no-such-program", {"no-such-program"}, {});
    FAIL() << "it was started";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "starting no-such-program: No such file or directory");
  }
}

}  // namespace
}  // namespace sampan
