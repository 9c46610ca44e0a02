#include "sampler/ptrace/tracer.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "sampler/child.h"

namespace sampan::sampler {
namespace {

// The limit counts the pending signals and timers of a user, so the test uses a process of its own.
TEST(Tracer, RefusesToAttachWithoutATimer) {
  const Child target([] { pause(); });
  const pid_t tracing = fork();
  if (tracing == 0) {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_SIGPENDING, &none);
    alarm(10);  // it must not wait for ever
    Tracer tracer({4'000'000, false, true});
    _exit(tracer.attach(target.pid()) == EAGAIN ? 0 : 1);
  }
  int status = 0;
  waitpid(tracing, &status, 0);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace sampan::sampler
