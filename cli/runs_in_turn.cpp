#include "cli/runs_in_turn.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <list>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "base/start_program.h"
#include "base/text/readable.h"
#include "cli/latest_recording.h"
#include "cli/recorded_profile.h"
#include "profile/load.h"
#include "profile/view.h"

namespace sampan::cli {
namespace {

namespace fs = std::filesystem;

// The last lines of what a command has said.
std::string end_of(const fs::path& output) {
  std::ifstream file(output);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  constexpr size_t kMost = 2000;
  const size_t begin = text.size() > kMost ? text.find('\n', text.size() - kMost) : 0;
  return text.substr(std::min(begin, text.size()));
}

// One run of a command, recorded below a directory. It is ended with this object.
class Run {
 public:
  Run(const std::vector<std::string>& command, fs::path directory, const SamplingOptions& sampling)
      : command_(command.front()), directory_(std::move(directory)) {
    fs::create_directories(directory_);
    const FileDescriptor output(
        open(said().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR));
    std::vector<std::string> words = {"sampan",
                                      "run",
                                      "--quiet",
                                      "--strict",
                                      "--format=none",
                                      "--instructions",
                                      "--output=" + directory_.string(),
                                      fmt::format("--rate={}", sampling.rate_hz),
                                      "--clock=" + sampling.clock};
    if (!sampling.max_overhead.empty()) {
      words.push_back("--max-overhead=" + sampling.max_overhead);
    }
    words.emplace_back("--");
    words.insert(words.end(), command.begin(), command.end());
    pid_ = start_program("/proc/self/exe", words, {output.get(), output.get()});
    end_ = FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
    if (end_) return;
    const int error = errno;
    stop();
    throw Error("ci: following the command: pidfd_open: {}", std::strerror(error));
  }
  ~Run() { stop(); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // Returns where the recording is. Throws Error if the command fails, or when a signal stops us.
  std::string recording(StopSignals& stop) {
    pollfd waits[] = {{end_.get(), POLLIN, 0}, {stop.fd(), POLLIN, 0}};
    while (waits[0].revents == 0 && (poll(waits, std::size(waits), -1) >= 0 || errno == EINTR)) {
      if (waits[1].revents == 0) continue;
      stop.take();
      throw Error("ci: stopped by a signal, so nothing is judged");
    }
    if (const int status = wait(); status != 0) {
      throw Error("ci: {} failed ({}), so nothing is judged:\n{}", command_,
                  WIFEXITED(status) ? ended(WEXITSTATUS(status), std::nullopt)
                                    : ended(std::nullopt, WTERMSIG(status)),
                  end_of(said()));
    }
    return find_recording(directory_);
  }

 private:
  fs::path said() const { return directory_ / "output"; }

  // Returns the status of wait(2).
  int wait() {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
    pid_ = -1;
    return status;
  }

  void stop() {
    if (pid_ < 0) return;
    kill(pid_, SIGTERM);
    wait();
  }

  std::string command_;
  fs::path directory_;
  pid_t pid_ = -1;
  FileDescriptor end_;
};

// While it lives, this thread and what it starts run on one of the CPUs that it may use.
class SharedCpu {
 public:
  explicit SharedCpu(unsigned turn) {
    if (sched_getaffinity(0, sizeof before_, &before_) != 0) {
      throw Error("ci: asking which CPUs may be used: {}", std::strerror(errno));
    }
    unsigned cpu = 0;
    for (unsigned skipped = turn % static_cast<unsigned>(CPU_COUNT(&before_));; ++cpu) {
      if (CPU_ISSET(cpu, &before_) && skipped-- == 0) break;
    }
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0) {
      throw Error("ci: --together: choosing CPU {}: {}", cpu, std::strerror(errno));
    }
  }
  ~SharedCpu() { sched_setaffinity(0, sizeof before_, &before_); }
  SharedCpu(const SharedCpu&) = delete;
  SharedCpu& operator=(const SharedCpu&) = delete;

 private:
  cpu_set_t before_{};
};

// Adds the figures of a run. The first run says which figures are notable.
void add_figures(const std::string& recording, bool notable,
                 std::map<reports::Quantity, reports::RunValues>& values) {
  profile::Profile profile = profile::load(read_recording(recording_path(recording)));
  find_names(profile);
  const profile::View view = profile::select(profile);
  const reports::RunFigures figures(view);
  if (notable) {
    for (const reports::Quantity& quantity : figures.notable()) values[quantity];
  }
  for (auto& [quantity, of] : values) {
    of.values.push_back(figures.value(quantity));
    of.resolution = std::max(of.resolution, figures.resolution(quantity));
  }
}

}  // namespace

void run_in_turn(std::vector<Side*> sides, const TurnOptions& options, StopSignals& stop) {
  Progress progress;
  unsigned places = 0;
  for (unsigned round = 0; round < options.runs; ++round) {
    progress.show("Running", round, options.runs);
    std::list<Run> running;
    const auto begin = [&](const Side* side) {
      running.emplace_back(side->command, options.directory / std::to_string(places++),
                           options.sampling);
    };
    if (options.together) {
      const SharedCpu cpu(round);
      std::ranges::for_each(sides, begin);
    }
    for (Side* const side : sides) {
      if (running.empty()) begin(side);
      const std::string before = std::exchange(side->last, running.front().recording(stop));
      running.pop_front();
      if (!before.empty()) fs::remove_all(fs::path(before).parent_path());
    }
    // Reading them would disturb the runs.
    for (Side* const side : sides) {
      add_figures(side->last, options.notable && round == 0, side->values);
    }
    std::ranges::reverse(sides);
  }
}

}  // namespace sampan::cli
