#include "remote/live/capture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/token_file.h"
#include "base/units.h"
#include "recording/segments.h"
#include "sampler/control/control_socket.h"

namespace sampan::live {
namespace {

constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 10'000'000};
constexpr unsigned kMostAttempts = 1000;       // ten seconds, and more on a busy machine
constexpr unsigned kMostWithoutProcess = 100;  // a second
// A read of the last seconds reads one or two files. Older files are removed after a while.
constexpr const char* kFileTime = "10s";
constexpr const char* kKept = "15m";
constexpr uint64_t kReadable = 15 * 60 * kNsPerSecond;

// The recorder gets our environment without SAMPAN_*, because its settings are in its config. The
// token of its control socket and the labels are no settings.
bool is_setting(std::string_view variable) {
  return variable.starts_with("SAMPAN_") && !variable.starts_with("SAMPAN_TOKEN_FILE=") &&
         !variable.starts_with("SAMPAN_LABELS=");
}

std::vector<std::string> environment() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    variables.emplace_back(*variable);
  }
  return variables;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

struct Start {
  std::vector<std::string> words, environment;
  int config;
  int owner;  // a pidfd of ours; -1: the recorder ends by a signal when we do
  std::string log;
  bool detached;
};

// Called in the child: becomes the recorder, which ends when `parent` ends. It would pass a signal on to the command that
// it has launched, so that one learns it from a pidfd.
[[noreturn]] void become(pid_t parent, Start& start) {
  if (start.owner < 0) prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);  // it had ended before
  for (const int inherited : {start.config, start.owner}) fcntl(inherited, F_SETFD, 0);
  if (start.detached) {
    const int messages = open(start.log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(messages, STDERR_FILENO);
    const int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    setsid();  // Ctrl-C in our terminal is ours
  }
  execve("/proc/self/exe", pointers_to(start.words).data(), pointers_to(start.environment).data());
  _exit(127);
}

}  // namespace

Capture::Capture(const CaptureOptions& options) : kept_in_(options.kept_in) {
  RecorderConfig config = options.recorder;
  config.output = kept_in_.empty() ? base_.path() + "/runs" : kept_in_;
  if (config.rotate.empty()) config.rotate = kFileTime;
  if (config.keep.empty()) config.keep = kKept;
  config.environment = environment();
  const pid_t parent = getpid();
  FileDescriptor owner;
  if (!config.command.empty()) {
    owner = FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, parent, 0)));
    if (!owner) throw Error("starting the recorder: pidfd_open: {}", std::strerror(errno));
  }
  config.owner = owner.get();
  Start start{{},          config.environment,    -1,
              owner.get(), base_.path() + "/log", options.detached_streams};
  std::erase_if(start.environment, is_setting);
  const FileDescriptor settings = write_config(config);
  start.config = settings.get();
  start.words = {"sampan", "recorder", "--config", std::to_string(start.config)};
  recorder_ = fork();
  if (recorder_ < 0) throw Error("starting the recorder: {}", std::strerror(errno));
  if (recorder_ == 0) become(parent, start);
  try {
    await_recording();
  } catch (...) {
    finish();
    throw;
  }
}

Capture::~Capture() {
  finish();
}

// Others may record into the same directory, so the recorder is asked which file is its own.
void Capture::find_directory() {
  std::error_code ignored;
  if (!kept_in_.empty()) {
    directory_ = std::filesystem::path(control("sync")).parent_path().parent_path();
    return;
  }
  for (const auto& entry : std::filesystem::directory_iterator(base_.path() + "/runs", ignored)) {
    directory_ = entry.path();
  }
}

void Capture::await_recording() {
  unsigned attempts = 0;
  while (true) {
    const bool is_over = over();  // a short program leaves a recording, too
    try {
      if (directory_.empty()) find_directory();
      if (!directory_.empty()) {
        const recording::Recording seen = read();
        clock_ = {seen.session.start_monotonic_ns};
        flush();
        // Without a process, its command may not exist.
        if (!seen.processes.empty() || (!is_over && ++attempts > kMostWithoutProcess)) return;
      }
    } catch (const Error&) {
      // The first block is not written yet, or the recorder does not listen yet.
      if (!is_over && ++attempts > kMostAttempts) throw;
    }
    if (is_over) throw Error("{}", recorder_output());
    nanosleep(&kPause, nullptr);
  }
}

std::string Capture::recorder_output() const {
  std::ifstream file(base_.path() + "/log", std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  constexpr std::string_view kOurs = "sampan: ";
  if (text.starts_with(kOurs)) text.erase(0, kOurs.size());
  while (text.ends_with('\n')) text.pop_back();
  return text.empty() ? "nothing was recorded" : text;
}

void Capture::flush() {
  if (!over()) control("sync");
}

recording::Recording Capture::read(SessionNs from_ns, SessionNs to_ns) const {
  const std::string files = directory_ + "/" + recording::kSegmentsDirectory;
  if (!kept_in_.empty() && clock_.start_ns != 0) {
    from_ns = std::max(from_ns, now_ns().earlier(kReadable));
  }
  const bool goes_on = recorder_ != 0;
  recording::Recording read =
      recording::read_segments(recording::segment_files(files), from_ns, to_ns);
  if (goes_on) read.end.reset();  // the end of a file, not of the recording
  return read;
}

SessionNs Capture::now_ns() const {
  return clock_.at(monotonic_ns());
}

std::string Capture::control(std::string_view command) {
  return sampler::control(recorder_, command, read_control_token());
}

bool Capture::over() {
  if (recorder_ != 0 && waitpid(recorder_, &status_, WNOHANG) == recorder_) recorder_ = 0;
  return recorder_ == 0;
}

int Capture::finish() {
  if (!over()) {
    kill(recorder_, SIGTERM);
    kill(recorder_, SIGCONT);  // somebody may have stopped it
    while (waitpid(recorder_, &status_, 0) < 0 && errno == EINTR) continue;
    recorder_ = 0;
  }
  return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
}

}  // namespace sampan::live
