#include "sampler/launch/launch.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "sampler/launch/program.h"

namespace sampan::sampler {
namespace {

class LaunchTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& text, mode_t mode = 0755) {
    const std::string path = folder_ + name;
    std::ofstream(path) << text;
    chmod(path.c_str(), mode);
    return path;
  }
  // Runs the command without a shim.
  static ProgramEnd run(const std::vector<std::string>& command) {
    SignalRelay signals;
    return wait_for(launch({command, "", "session", true}, signals, OwnLimits()));
  }
  static std::string output(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static int refusal(const std::vector<std::string>& command) {
    try {
      run(command);
      return 0;
    } catch (const LaunchError& error) {
      return error.exit_status;
    }
  }

  const std::string folder_ = testing::TempDir() + "launch-" + std::to_string(getpid()) + "/";
};

TEST_F(LaunchTest, KeepsTheProgramsEnd) {
  EXPECT_EQ(run({"sh", "-c", "exit 7"}).exit.status, 7);
  const ProgramEnd killed = run({"sh", "-c", "kill -SEGV $$"});
  EXPECT_EQ(killed.exit.signal, SIGSEGV);
  EXPECT_FALSE(killed.exit.status);
}

TEST_F(LaunchTest, SaysAsAShellWhatCannotBeExecuted) {
  EXPECT_EQ(refusal({"no-such-command-anywhere"}), 127);
  EXPECT_EQ(refusal({folder_ + "absent"}), 127);
  EXPECT_EQ(refusal({file("plain", "text", 0644)}), 126);
  EXPECT_EQ(refusal({folder_}), 126);
  EXPECT_EQ(refusal({file("script", "#!/no/such/interpreter\n")}), 127);
}

TEST_F(LaunchTest, PassesOnTheSessionAndTheEnvironment) {
  setenv("LD_PRELOAD", "libm.so.6", 1);
  setenv("SAMPAN_SESSION", "stale", 1);
  const std::string out = folder_ + "out";
  SignalRelay signals;
  wait_for(launch({{"sh", "-c", "echo $LD_PRELOAD $SAMPAN $SAMPAN_SESSION $SAMPAN_FOLLOW > " + out},
                   "libc.so.6",
                   "name",
                   false},
                  signals, OwnLimits()));
  unsetenv("LD_PRELOAD");
  unsetenv("SAMPAN_SESSION");
  EXPECT_EQ(output(out), "libc.so.6:libm.so.6 1 name 0\n");
}

TEST_F(LaunchTest, RefusesAShimThatTheLoaderCannotName) {
  SignalRelay signals;
  EXPECT_THROW(launch({{"true"}, "/a b/shim.so", "name", true}, signals, OwnLimits()), Error);
}

TEST_F(LaunchTest, GivesTheProgramTheSignalsThatSampanWasGiven) {
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  const auto state = [&] {
    const std::string out = folder_ + "status";
    run({"cp", "/proc/self/status", out});  // a shell would clear its mask
    return output(out);
  };
  const std::string plain = state();
  EXPECT_NE(plain.find("SigBlk:\t0000000000000000"), std::string::npos) << plain;
  sigprocmask(SIG_BLOCK, &blocked, &before);
  const std::string masked = state();
  sigprocmask(SIG_SETMASK, &before, nullptr);
  EXPECT_NE(masked.find("SigBlk:\t0000000000004000"), std::string::npos) << masked;
}

TEST_F(LaunchTest, PassesOnWhatIsSentToItself) {
  SignalRelay signals;
  const LaunchedProgram program = launch({{"sleep", "30"}, "", "name", true}, signals, OwnLimits());
  kill(getpid(), SIGTERM);
  pollfd wait{signals.fd(), POLLIN, 0};
  ASSERT_EQ(poll(&wait, 1, 10'000), 1);
  signals.pass_on(program.pid);
  EXPECT_EQ(wait_for(program).exit.signal, SIGTERM);
}

TEST_F(LaunchTest, FindsProgramsAndTheInterpretersOfScripts) {
  std::string missing;
  const std::string sh = find_program("sh");
  EXPECT_FALSE(sh.empty());
  EXPECT_EQ(find_program(""), "");
  EXPECT_EQ(find_program(folder_), "") << "a directory";
  EXPECT_EQ(resolve_interpreter(file("direct", "#! /bin/sh -e\n"), missing), "/bin/sh");
  EXPECT_EQ(resolve_interpreter(file("env", "#!/usr/bin/env -S A=1 sh\n"), missing), sh);
  EXPECT_EQ(resolve_interpreter(file("none", "#!/no/such\n"), missing), "");
  EXPECT_EQ(missing, "/no/such");
  const std::string loop = folder_ + "loop";
  EXPECT_FALSE(resolve_interpreter(file("loop", "#!" + loop + "\n"), missing).empty());
}

TEST_F(LaunchTest, KnowsWhatCannotBePreloaded) {
  EXPECT_EQ(preloadability("/bin/true").reason, "");
  EXPECT_EQ(preloadability(file("sh-script", "#!/bin/sh\n")).kind, Preload::kYes);
  EXPECT_EQ(preloadability(file("text", "nothing")).kind, Preload::kYes);
  EXPECT_FALSE(preloadability("/bin/true").refuses());
  std::string of_32_bits(64, '\0');
  of_32_bits.replace(0, 5, "\177ELF\1");
  const Preloadability narrow = preloadability(file("narrow", of_32_bits));
  EXPECT_NE(narrow.reason.find("32-bit"), std::string::npos);
  EXPECT_TRUE(narrow.refuses());
  EXPECT_FALSE(preloadability("/no/such").refuses());
  const std::string source = file("main.c", "int main(void) { return 0; }\n");
  const auto build = [&](const std::string& compiler, const std::string& name) {
    return std::system(
               (compiler + " -o " + folder_ + name + " " + source + " 2>/dev/null").c_str()) == 0;
  };
  if (build("cc -static", "static")) {
    EXPECT_NE(preloadability(folder_ + "static").reason.find("statically"), std::string::npos);
    const std::string script = file("static-script", "#!" + folder_ + "static\n");
    EXPECT_NE(preloadability(script).reason.find("statically"), std::string::npos);
  }
  if (build("musl-gcc", "musl")) {
    EXPECT_NE(preloadability(folder_ + "musl").reason.find("musl"), std::string::npos);
    EXPECT_TRUE(preloadability(folder_ + "musl").refuses());
  }
  std::filesystem::copy("/bin/true", folder_ + "setuid");
  if (geteuid() == 0 && chown((folder_ + "setuid").c_str(), 65534, 65534) == 0) {
    chmod((folder_ + "setuid").c_str(), 04755);
    EXPECT_NE(preloadability(folder_ + "setuid").reason.find("setuid"), std::string::npos);
  }
}

}  // namespace
}  // namespace sampan::sampler
