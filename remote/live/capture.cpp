#include "live/capture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
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

#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"
#include "recording/segment_files.h"
#include "sampler/control_client.h"
#include "sampler/control_token.h"

namespace sampan::live {
namespace {

constexpr timespec kPatience{.tv_sec = 0, .tv_nsec = 10'000'000};
constexpr unsigned kMostAttempts = 1000;       // ten seconds, and more on a busy machine
constexpr unsigned kMostWithoutProcess = 100;  // a second
// A look at the last seconds reads a file or two; what lies further back is forgotten some time.
constexpr const char* kFileTime = "10s";
constexpr const char* kKept = "15m";
constexpr uint64_t kReadable = 15 * 60 * kNsPerSecond;

std::string make_directory() {
  const char* const base = std::getenv("TMPDIR");
  std::string path = std::string(base != nullptr && *base != '\0' ? base : "/tmp");
  path += "/sampan-live-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) throw Error("creating {}: {}", path, std::strerror(errno));
  return path;
}

std::vector<std::string> command_line(const CaptureOptions& options, const std::string& output) {
  std::vector<std::string> words = {"sampan"};
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  if (words.size() < 2) throw Error("a capture needs a command: run or attach");
  std::vector<std::string> ours = {"--output", output,           "--format",    "none",
                                   "--quiet",  "--no-symbolize", "--continuous"};
  if (options.kept_in.empty()) ours.insert(ours.end(), {"--rotate", kFileTime, "--keep", kKept});
  words.insert(words.begin() + 2, ours.begin(), ours.end());
  return words;
}

// In the child: becomes the recorder. Ends with `parent`, however that ends.
[[noreturn]] void become(pid_t parent, std::vector<std::string> words, const std::string& log,
                         bool detached) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);  // it had ended before
  unsetenv("SAMPAN_PUSH");            // nobody asked this recorder to, unless its words say so
  if (detached) {
    const int messages = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(messages, STDERR_FILENO);
    const int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    setsid();  // Ctrl-C in our terminal is ours
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv("/proc/self/exe", arguments.data());
  _exit(127);
}

}  // namespace

Capture::Capture(const CaptureOptions& options)
    : base_(make_directory()), kept_in_(options.kept_in) {
  const std::vector<std::string> words =
      command_line(options, kept_in_.empty() ? base_ + "/runs" : kept_in_);
  const pid_t parent = getpid();
  recorder_ = fork();
  if (recorder_ < 0) throw Error("starting the recorder: {}", std::strerror(errno));
  if (recorder_ == 0) become(parent, words, base_ + "/log", options.detached_streams);
  try {
    await_recording();
  } catch (...) {
    finish();
    std::error_code ignored;
    std::filesystem::remove_all(base_, ignored);
    throw;
  }
}

Capture::~Capture() {
  finish();
  std::error_code ignored;
  std::filesystem::remove_all(base_, ignored);
}

// Where others record too, the recorder says which file is its own.
void Capture::find_directory() {
  std::error_code ignored;
  if (!kept_in_.empty()) {
    directory_ = std::filesystem::path(control("sync")).parent_path().parent_path();
    return;
  }
  for (const auto& entry : std::filesystem::directory_iterator(base_ + "/runs", ignored)) {
    directory_ = entry.path();
  }
}

void Capture::await_recording() {
  unsigned attempts = 0;
  while (true) {
    const bool is_over = over();  // a short program leaves its recording all the same
    try {
      if (directory_.empty()) find_directory();
      if (!directory_.empty()) {
        const recording::Recording seen = read();
        start_monotonic_ns_ = seen.session.start_monotonic_ns;
        flush();
        // Without a process its command may turn out not to be there.
        if (!seen.processes.empty() || (!is_over && ++attempts > kMostWithoutProcess)) return;
      }
    } catch (const Error&) {
      // Its first block is not there yet, or it does not listen yet.
      if (!is_over && ++attempts > kMostAttempts) throw;
    }
    if (is_over) throw Error("{}", recorder_output());
    nanosleep(&kPatience, nullptr);
  }
}

std::string Capture::recorder_output() const {
  std::ifstream file(base_ + "/log", std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  constexpr std::string_view kOurs = "sampan: ";
  if (text.starts_with(kOurs)) text.erase(0, kOurs.size());
  while (text.ends_with('\n')) text.pop_back();
  return text.empty() ? "nothing was recorded" : text;
}

void Capture::flush() {
  if (!over()) control("sync");
}

recording::Recording Capture::read(uint64_t from_ns, uint64_t to_ns) const {
  const std::string files = directory_ + "/" + recording::kSegmentsDirectory;
  if (!kept_in_.empty() && start_monotonic_ns_ != 0) {
    const uint64_t now = now_ns();
    from_ns = std::max(from_ns, now - std::min(now, kReadable));
  }
  const bool goes_on = recorder_ != 0;
  recording::Recording read =
      recording::read_segments(recording::segment_files(files), from_ns, to_ns);
  if (goes_on) read.end.reset();  // it is that of a file
  return read;
}

uint64_t Capture::now_ns() const {
  const uint64_t now = monotonic_ns();
  return now > start_monotonic_ns_ ? now - start_monotonic_ns_ : 0;
}

std::string Capture::control(std::string_view command) {
  return sampler::control(recorder_, command, sampler::read_control_token());
}

bool Capture::over() {
  if (recorder_ != 0 && waitpid(recorder_, &status_, WNOHANG) == recorder_) recorder_ = 0;
  return recorder_ == 0;
}

int Capture::finish() {
  if (!over()) {
    kill(recorder_, SIGTERM);
    while (waitpid(recorder_, &status_, 0) < 0 && errno == EINTR) continue;
    recorder_ = 0;
  }
  return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
}

}  // namespace sampan::live
