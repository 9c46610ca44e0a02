#include "cli/runs_in_turn.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

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

// Returns the status of wait(2). A signal that stops us ends the process first; throws Error then.
int wait_for(pid_t pid, StopSignals& stop) {
  const FileDescriptor end(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  pollfd waits[] = {{end.get(), POLLIN, 0}, {stop.fd(), POLLIN, 0}};
  bool stopped = false;
  if (!end) {
    const int error = errno;
    kill(pid, SIGTERM);
    waitpid(pid, nullptr, 0);
    throw Error("ci: following the command: pidfd_open: {}", std::strerror(error));
  }
  while (waits[0].revents == 0 && (poll(waits, std::size(waits), -1) >= 0 || errno == EINTR)) {
    if (waits[1].revents == 0) continue;
    stop.take();
    kill(pid, SIGTERM);
    stopped = true;
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  if (stopped) throw Error("ci: stopped by a signal, so nothing is judged");
  return status;
}

// Records one run of the command below `directory`, and returns where. Throws Error if the command
// fails.
std::string record_run(const std::vector<std::string>& command, const fs::path& directory,
                       const SamplingOptions& sampling, StopSignals& stop) {
  fs::create_directories(directory);
  const fs::path said = directory / "output";
  const FileDescriptor output(
      open(said.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR));
  std::vector<std::string> words = {"sampan",
                                    "run",
                                    "--quiet",
                                    "--strict",
                                    "--format=none",
                                    "--output=" + directory.string(),
                                    fmt::format("--rate={}", sampling.rate_hz),
                                    "--clock=" + sampling.clock};
  if (!sampling.max_overhead.empty()) {
    words.push_back("--max-overhead=" + sampling.max_overhead);
  }
  words.emplace_back("--");
  words.insert(words.end(), command.begin(), command.end());
  const pid_t pid = start_program("/proc/self/exe", words, {output.get(), output.get()});
  if (const int status = wait_for(pid, stop); status != 0) {
    throw Error("ci: {} failed ({}), so nothing is judged:\n{}", command.front(),
                WIFEXITED(status) ? ended(WEXITSTATUS(status), std::nullopt)
                                  : ended(std::nullopt, WTERMSIG(status)),
                end_of(said));
  }
  return find_recording(directory);
}

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
  for (unsigned run = 0; run < options.runs; ++run) {
    progress.show("Running", run, options.runs);
    for (Side* const side : sides) {
      if (!side->last.empty()) fs::remove_all(fs::path(side->last).parent_path());
      const fs::path place = options.directory / std::to_string(places++);
      side->last = record_run(side->command, place, options.sampling, stop);
      add_figures(side->last, options.notable && run == 0, side->values);
    }
    std::ranges::reverse(sides);
  }
}

}  // namespace sampan::cli
