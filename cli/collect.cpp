// sampan collect --session NAME --parent-pid PID: the recorder that the shim starts when a program
// is profiled without the launcher (LD_PRELOAD and SAMPAN=1 alone). It records until all processes
// of the program are gone. Options come from the environment.
#include <fmt/core.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <memory>

#include "base/clock.h"
#include "base/event_loop.h"
#include "base/token_file.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/record.h"
#include "cli/signals.h"
#include "sampler/process/kernel_limits.h"
#include "sampler/process/own_limits.h"
#include "sampler/process/proc_task.h"

namespace sampan::cli {
namespace {

struct CollectOptions {
  RunOptions run;
  std::string session;
  pid_t parent = 0;
};

// From the end of one process to the Hello of a child that it left behind.
constexpr int kGraceMs = 300;
// How long the program may take to join after it has started us.
constexpr uint64_t kJoinTimeout = 5 * kNsPerSecond;

// Nobody waits for this process, and it outlives the terminal.
void become_daemon() {
  setsid();
  for (const int signal : {SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGPIPE}) {
    std::signal(signal, SIG_IGN);
  }
}

bool is_over(const sampler::RecordingSession& session) {
  if (session.processes() > 0) return false;
  const MonotonicNs now_ns = monotonic_ns();
  if (session.joined() == 0) return now_ns > session.start_ns() + kJoinTimeout;
  return now_ns > session.last_end_ns() + kGraceMs * kNsPerMs;
}

int collect(const CollectOptions& options) {
  become_daemon();
  const sampler::OwnLimits limits;
  const recording::Session description =
      describe(sampler::command_line_of(options.parent), options.run);
  RunFiles files(options.run, description.program, options.parent);
  {
    EventLoop loop;
    const auto session = sampler::record_with_shim(
        loop, record_options(options.run, description, files),
        {options.session, options.run.sections_only, options.run.python,
         sampler::ends_with_namespace(), options.run.sampling_clock, options.run.watched});
    const sampler::ControlSocket control(loop, session->controlled(), read_control_token());
    const FlushSignal flush(loop, [&session] { return session->flush(); });
    files.set_hidden([&session] { return session->hidden(); });
    session->set_root(options.parent);
    while (!is_over(*session) && !session->is_urgent()) session->step(kGraceMs);
    if (session->joined() == 0) {
      files.remove();
      return kExitFailure;
    }
    session->detach();
    files.keep(session->hidden());
    session->finish(session_end(*session));
  }
  files.conclude();
  return 0;
}

}  // namespace

void add_collect(CLI::App& app, Commands& commands) {
  CLI::App* command = app.add_subcommand("collect", "Gather what a program records");
  command->group("");  // hidden
  const auto options = std::make_shared<CollectOptions>();
  add_run_options(*command, options->run);
  add_sampling_clock_option(*command, options->run.sampling_clock);
  add_watch_options(*command, options->run.watched);
  command->add_option("--session", options->session)->required();
  command->add_option("--parent-pid", options->parent)->required();
  commands.actions[command] = [options] { return collect(*options); };
}

}  // namespace sampan::cli
