// sampan collect --session NAME --parent-pid PID: what the shim starts when a program is profiled
// without the launcher (LD_PRELOAD and SAMPAN=1 alone). Gathers until all processes of the program
// are gone. Options come from the environment.
#include <fmt/core.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <memory>

#include "attach/preloaded_waits.h"
#include "attach/proc_task.h"
#include "base/clock.h"
#include "cli/command.h"
#include "cli/flush_signal.h"
#include "cli/run_files.h"
#include "cli/run_options.h"
#include "recording/writer.h"
#include "sampler/collector.h"
#include "sampler/control_token.h"
#include "sampler/descriptor_limit.h"
#include "sampler/event_loop.h"
#include "sampler/session_info.h"

namespace sampan::cli {
namespace {

struct CollectOptions {
  RunOptions run;
  std::string session;
  pid_t parent = 0;
};

// Between the end of one process and the first sign of the child that it left.
constexpr int kGraceMs = 300;
// For the program to join after it has started us.
constexpr uint64_t kPatienceNs = 5'000'000'000;

// Nobody waits for this process, and it outlives the terminal.
void become_daemon() {
  setsid();
  for (const int signal : {SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGPIPE}) {
    std::signal(signal, SIG_IGN);
  }
}

bool is_over(const sampler::Collector& collector, uint64_t start_ns) {
  if (collector.processes() > 0) return false;
  const uint64_t now = monotonic_ns();
  if (collector.joined() == 0) return now > start_ns + kPatienceNs;
  return now > collector.last_end_ns() + kGraceMs * 1'000'000ull;
}

int collect(const CollectOptions& options) {
  become_daemon();
  sampler::raise_descriptor_limit();
  recording::Session session =
      sampler::describe_session(attach::command_line_of(options.parent), options.run.name,
                                options.run.sampling.rate_hz, SAMPAN_VERSION);
  session.clock = options.run.sampling.clock;
  RunFiles files(options.run, session.program, options.parent);
  {
    sampler::EventLoop loop;
    const uint64_t start_ns = session.start_monotonic_ns;
    recording::Writer writer(files.recording(), session);
    attach::PreloadedWaits waits(writer, start_ns);
    sampler::Collector collector(loop, writer,
                                 {options.session,
                                  start_ns,
                                  rate_options(options.run.sampling, options.run.quiet),
                                  options.run.follow,
                                  {starts_paused(options.run), options.run.sections_only},
                                  options.run.sampling.clock == "wall" ? &waits : nullptr,
                                  files.segments()});
    const sampler::ControlSocket control(loop, collector.controlled(),
                                         sampler::read_control_token());
    const FlushSignal flush(loop, [&collector] { return collector.flush(); });
    collector.set_root(options.parent);
    while (!is_over(collector, start_ns)) collector.step(kGraceMs);
    if (collector.joined() == 0) {
      files.remove();
      return kExitFailure;
    }
    collector.finish();
    if (!collector.failure().empty()) throw Error("{}", collector.failure());
    recording::SessionEnd end;
    end.time_ns = collector.last_end_ns() - start_ns;
    end.exit_status = collector.root_exit().status;
    end.exit_signal = collector.root_exit().signal;
    writer.finish(end);
    if (files.segments() != nullptr) files.segments()->finish(writer, end.time_ns);
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
  command->add_option("--session", options->session)->required();
  command->add_option("--parent-pid", options->parent)->required();
  commands.actions[command] = [options] { return collect(*options); };
}

}  // namespace sampan::cli
