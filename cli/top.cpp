// sampan top [options] PID | HOST:PORT | -- COMMAND: what a program is doing, live.
#include <fmt/core.h>
#include <locale.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/say.h"
#include "base/token_file.h"
#include "cli/command.h"
#include "cli/latest_recording.h"
#include "cli/record.h"
#include "cli/recording_options.h"
#include "cli/run_options.h"
#include "cli/signals.h"
#include "cli/values.h"
#include "exporters/exporter.h"
#include "profile/load.h"
#include "profile/view.h"
#include "recording/complete_file.h"
#include "recording/segments.h"
#include "remote/top/loop.h"
#include "remote/top/render.h"
#include "sampler/inspect/permission.h"
#include "sampler/process/proc_task.h"
#include "sampler/process/process_root.h"
#include "symbolizer/name_cache.h"
#include "symbolizer/symbolizer.h"

namespace sampan::cli {
namespace {

struct TopOptions {
  std::string target;  // a pid, a program's name, or a `sampan serve`
  std::string token_file;
  SamplingOptions sampling = {.rate_hz = 100, .clock = "wall"};
  std::string engine = "auto";
  std::optional<bool> follow = {};  // none: the default of run or attach
  uint64_t delay_ns = kNsPerSecond;
  uint64_t window_ns = 5 * kNsPerSecond;
  std::string look = "threads";
  profile::PythonFrames python = profile::PythonFrames::kMixed;
  std::string output = kUsualOutput;
  bool once = false;
  bool json = false;
};

const std::vector<std::string> kLooks = {"threads", "functions", "tree"};

// Exactly one of these is set.
struct Target {
  std::string url = {};  // of a `sampan serve`
  pid_t pid = 0;
  std::vector<std::string> command = {};
};

// The served capture, or an own one by the options of `attach` or `run`.
std::unique_ptr<top::Source> source_of(const TopOptions& options, const Target& target) {
  if (!target.url.empty()) {
    const std::string token =
        options.token_file.empty() ? "" : read_token(options.token_file, "--token-file");
    return top::remote_source(target.url, token);
  }
  const bool attaches = target.pid != 0;
  live::RecorderConfig recorder;
  recorder.command = target.command;
  recorder.pid = target.pid;
  recorder.rate_hz = options.sampling.rate_hz;
  recorder.clock = options.sampling.clock;
  recorder.max_overhead = options.sampling.max_overhead;
  recorder.engine = options.engine;
  recorder.follow = options.follow.value_or(!attaches);
  return top::capture_source({recorder, true}, !attaches);
}

top::History::Namer namer_for(const Target& target) {
  symbolizer::Options options;
  options.cache_directory = symbolizer::default_cache_directory();
  if (target.pid != 0) options.sysroot = sampler::root_in_other_mounts(target.pid);
  return [options](profile::Profile& profile) { symbolizer::symbolize(profile, options); };
}

void save(const recording::Recording& recording, const std::string& path) {
  recording::write(recording::rebased(recording), path);
}

// Writes the page beside the recording, as a run does.
std::string open_page(recording::Recording recording, const TopOptions& options,
                      const top::History::Namer& look_up_names) {
  const OutputDirectory directory(options.output, recording.session.program, 0600);
  recording = recording::rebased(std::move(recording));
  recording::write(recording, directory.recording());
  profile::Profile profile = profile::load(std::move(recording), options.python);
  look_up_names(profile);
  const std::string path = directory.path() + "/profile.html";
  const exporters::Format& format = exporters::format("html");
  format.write(profile::select(profile), path, format.max_size);
  const std::string problem = open_in_browser(std::filesystem::absolute(path).string());
  return problem.empty() ? path : fmt::format("{} ({})", path, problem);
}

// COLUMNS and LINES, else the terminal's size, else 80x24.
top::Size size_of_stdout() {
  top::Size size;
  if (winsize window{}; ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col != 0) {
    size = {window.ws_col, window.ws_row};
  }
  const auto asked = [](const char* variable, size_t& number) {
    const char* const value = std::getenv(variable);
    if (value != nullptr && std::atoi(value) > 0) {
      number = static_cast<size_t>(std::min(std::atoi(value), 10'000));
    }
  };
  asked("COLUMNS", size.width);
  asked("LINES", size.height);
  return size;
}

top::Screen first_screen(const TopOptions& options, const Target& target) {
  top::Screen screen;
  top::Status& status = screen.status;
  if (!target.url.empty()) {
    status.target = target.url;  // the recording has its rate
  } else {
    const std::vector<std::string> words =
        target.pid != 0 ? sampler::command_line_of(target.pid) : target.command;
    const std::string program = words.empty() ? "" : words.front();
    status.target = program.substr(program.rfind('/') + 1);
    if (target.pid != 0) status.target += fmt::format(" ({})", target.pid);
    if (target.pid == 0) status.note = "its output goes to /dev/null";
    status.rate_hz = options.sampling.rate_hz;
  }
  screen.choices.look = static_cast<top::Look>(
      std::find(kLooks.begin(), kLooks.end(), options.look) - kLooks.begin());
  return screen;
}

// The exit status: the command's if it ended by itself.
int end(top::Source& source) {
  const bool ended = source.over();
  const std::optional<int> status = source.finish();
  return ended ? status.value_or(0) : 0;
}

int print_once(const TopOptions& options, const Target& target) {
  const std::unique_ptr<top::Source> source = source_of(options, target);
  top::Screen screen = first_screen(options, target);
  screen.status.window_ns = options.delay_ns;
  top::History history(screen.status.window_ns);
  const top::History::Namer look_up_names = namer_for(target);
  top::Refresher refresher(*source, history, look_up_names, options.python);
  {
    StopSignals stop;
    refresher.refresh();  // samples from before the delay are not shown
    stop.wait(static_cast<int>(options.delay_ns / kNsPerMs));
    refresher.refresh();
    stop.take();
  }
  screen.refresh(history);
  if (options.json) {
    fmt::print("{}", top::json(history, screen.choices, screen.status));
  } else {
    const top::Picture picture =
        top::render_once(screen.content(), screen.choices, screen.status, size_of_stdout());
    for (const top::Line& line : picture.lines) fmt::print("{}\n", top::plain_text(line));
  }
  return end(*source);
}

int watch(const TopOptions& options, const Target& target) {
  auto terminal = std::make_unique<top::Terminal>();
  const std::unique_ptr<top::Source> source = source_of(options, target);
  top::Screen screen = first_screen(options, target);
  screen.status.window_ns = options.window_ns;
  top::History history(screen.status.window_ns);
  const top::History::Namer look_up_names = namer_for(target);
  top::Refresher refresher(*source, history, look_up_names, options.python);
  std::string last_words;
  {
    StopSignals stop;
    last_words = top::watch(*terminal, *source, history, refresher, screen,
                            {.delay_ns = options.delay_ns,
                             .stop_fd = stop.fd(),
                             .save = save,
                             .open_page = [&](recording::Recording recording) {
                               return open_page(std::move(recording), options, look_up_names);
                             }});
    stop.take();
  }
  terminal.reset();
  if (!last_words.empty()) say("sampan: {}\n", last_words);
  return end(*source);
}

int run_top(const TopOptions& options, const std::vector<std::string>& command) {
  rate_options(options.sampling, true);
  if (options.target.empty() == command.empty()) {
    throw UsageError(
        "top: needs a PID, HOST:PORT or a command\n"
        "sampan top [options] PID | HOST:PORT | -- COMMAND");
  }
  setlocale(LC_CTYPE, "");
  const bool prints = options.once || options.json;
  if (!prints && (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0)) {
    throw UsageError("top: this is not a terminal; use --once or --json");
  }
  Target target{.command = command};
  target.url = served_url(options.target);
  if (target.url.empty() && command.empty()) {
    target.pid = sampler::find_process(options.target);
    const std::string why = sampler::why_not_profilable(target.pid);
    if (!why.empty()) throw Error("{}", why);
  }
  return prints ? print_once(options, target) : watch(options, target);
}

void add_options(CLI::App& command, TopOptions& options) {
  add_sampling_options(command, options.sampling);
  add_engine_option(command, options.engine, "How a running process is sampled");
  command.add_flag("--follow,!--no-follow", options.follow, "Profile child processes, too")
      ->envname("SAMPAN_FOLLOW");
  command.add_option("--token-file", options.token_file, "File with the token of the sampan serve")
      ->envname("SAMPAN_TOKEN_FILE")
      ->type_name("FILE");
  add_time_option(command, "-s,--delay", "Time between updates",
                  [&options](uint64_t ns) { options.delay_ns = ns; },
                  {.least_ns = 100 * kNsPerMs,
                   .most_ns = 3600 * kNsPerSecond,
                   .allowed = "a time from 100ms to 1h, such as 2 or 500ms"})
      ->envname("SAMPAN_DELAY")
      ->default_str("1s");
  add_time_option(command, "--window", "How much of the time until now is shown",
                  [&options](uint64_t ns) { options.window_ns = ns; },
                  {.least_ns = 100 * kNsPerMs,
                   .most_ns = 86400 * kNsPerSecond,
                   .allowed = "a time from 100ms to 1d, such as 30 or 2m"})
      ->envname("SAMPAN_WINDOW")
      ->default_str("5s");
  command.add_option("--look", options.look, "The initial view")
      ->envname("SAMPAN_LOOK")
      ->type_name("threads|functions|tree")
      ->check(CLI::IsMember(kLooks).description(""));
  add_python_option(command, options.python);
  command.add_option("-o,--output", options.output, "Directory for the page that the key o opens")
      ->envname("SAMPAN_OUTPUT")
      ->type_name("DIR")
      ->capture_default_str();
  command.add_flag("--once", options.once, "Print once after the delay, and exit")
      ->envname("SAMPAN_ONCE");
  command.add_flag("--json", options.json, "Print JSON, see docs/top-json.md")
      ->envname("SAMPAN_JSON");
}

}  // namespace

void add_top(CLI::App& app, Commands& commands) {
  CLI::App* const command =
      app.add_subcommand("top", "Show what the threads of a program are doing, in the terminal");
  set_examples(
      *command,
      {"sampan top PID", "sampan top -s 500ms --look tree PID", "sampan top -- python3 service.py"},
      "sampan top [OPTIONS] PID | HOST:PORT | -- COMMAND [ARG...]");
  const auto options = std::make_shared<TopOptions>();
  command
      ->add_option("-p,--pid,PID", options->target,
                   "A pid, the name of a process if it is unique, or HOST:PORT of a sampan serve")
      ->type_name("PID");
  add_options(*command, *options);
  commands.actions[command] = [options, &commands] { return run_top(*options, commands.program); };
}

}  // namespace sampan::cli
