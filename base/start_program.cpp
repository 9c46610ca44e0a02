#include "base/start_program.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <cstring>

#include "base/error.h"

namespace sampan {
namespace {

class FileActions {
 public:
  explicit FileActions(ProgramOutput output) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    redirect(output.out, STDOUT_FILENO);
    redirect(output.err, STDERR_FILENO);
  }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;

  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  void redirect(int from, int to) {
    if (from < 0) {
      posix_spawn_file_actions_addopen(&actions_, to, "/dev/null", O_WRONLY, 0);
    } else {
      posix_spawn_file_actions_adddup2(&actions_, from, to);
    }
  }

  posix_spawn_file_actions_t actions_;
};

class UsualSignals {
 public:
  UsualSignals() {
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes_, &signals);
    sigaddset(&signals, SIGPIPE);
    posix_spawnattr_setsigdefault(&attributes_, &signals);
  }
  ~UsualSignals() { posix_spawnattr_destroy(&attributes_); }
  UsualSignals(const UsualSignals&) = delete;
  UsualSignals& operator=(const UsualSignals&) = delete;

  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

}  // namespace

pid_t start_program(const std::string& program, std::vector<std::string> words,
                    ProgramOutput output) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const FileActions files(output);
  const UsualSignals signals;
  pid_t pid = 0;
  const int error =
      posix_spawnp(&pid, program.c_str(), files.get(), signals.get(), arguments.data(), environ);
  if (error != 0) throw Error("starting {}: {}", program, std::strerror(error));
  return pid;
}

}  // namespace sampan
