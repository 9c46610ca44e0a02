// sampan attach [options] PID
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "attach/permission.h"
#include "attach/proc_task.h"
#include "attach/session.h"
#include "base/clock.h"
#include "cli/attach_options.h"
#include "cli/command.h"
#include "cli/flush_signal.h"
#include "cli/run_files.h"
#include "cli/stop_signals.h"
#include "sampler/control_token.h"
#include "sampler/descriptor_limit.h"
#include "sampler/session_info.h"

namespace sampan::cli {
namespace {

constexpr double kLongestDuration = 1e9;

void say_what_begins(const attach::Session& session, pid_t pid, const std::string& program) {
  const std::string note = session.note();
  fmt::print(stderr, "sampan: sampling process {} ({}) with the {} engine; Ctrl-C ends it\n", pid,
             program, attach::engine_name(session.engine()));
  if (!note.empty()) fmt::print(stderr, "sampan: {}\n", note);
}

void sample(attach::Session& session, sampler::EventLoop& loop, double duration_s) {
  StopSignals signals;
  bool stopped = false;
  loop.watch(signals.fd(), [&] {
    signals.take();
    stopped = true;
  });
  const auto wanted_ns = static_cast<uint64_t>(duration_s * 1e9);
  while (!session.over() && !stopped) {
    const uint64_t passed_ns = monotonic_ns() - session.start_ns();
    if (wanted_ns != 0 && passed_ns >= wanted_ns) break;
    const uint64_t left_ms = wanted_ns != 0 ? (wanted_ns - passed_ns) / 1'000'000 + 1 : UINT32_MAX;
    session.step(static_cast<int>(std::min<uint64_t>(left_ms, attach::Session::kTickMs)));
  }
  session.detach();
  loop.forget(signals.fd());
}

recording::SessionEnd session_end(const attach::Session& session) {
  recording::SessionEnd end;
  const attach::Session::Outcome& outcome = session.outcome();
  end.time_ns = outcome.end_ns - session.start_ns();
  end.exit_status = outcome.root_exit.status;
  end.exit_signal = outcome.root_exit.signal;
  end.note = session.note();
  if (outcome.root_ended && !end.exit_status && !end.exit_signal && end.note.empty()) {
    end.note = "The process has ended; how, the kernel does not tell.";
  }
  return end;
}

}  // namespace

void add_attach_options(CLI::App& command, AttachOptions& options) {
  command.add_option("--duration", options.duration_s, "Seconds to sample (default: to its end)")
      ->envname("SAMPAN_DURATION")
      ->type_name("S")
      ->check(CLI::Range(0.001, kLongestDuration).description(""));
  command
      .add_option("--engine", options.engine,
                  "perf, ptrace, poll, or auto: the first of them that is permitted")
      ->envname("SAMPAN_ENGINE")
      ->type_name("auto|perf|ptrace|poll")
      ->check(CLI::IsMember({"auto", "perf", "ptrace", "poll"}).description(""));
}

std::optional<attach::EngineKind> chosen_engine(const AttachOptions& options) {
  return attach::engine_kind(options.engine);
}

int attach_and_record(const AttachOptions& options) {
  const pid_t pid = attach::find_process(options.target);
  if (const std::string why = attach::why_not_profilable(pid); !why.empty()) throw Error("{}", why);
  chosen_formats(options.run);  // what is wrong is said before anything begins
  segment_options(options.run.continuous, "");
  if (options.run.push.wanted()) push_options(options.run.push, pid);
  rate_options(options.run.sampling, options.run.quiet);
  const bool paused = starts_paused(options.run);
  const std::string token = sampler::read_control_token();
  if (options.run.sections_only) {
    throw UsageError(
        "attach: --sections-only needs a program that sampan has launched: sampan run");
  }
  recording::Session description = sampler::describe_session(
      attach::command_line_of(pid), options.run.name, options.run.sampling.rate_hz, SAMPAN_VERSION);
  description.clock = options.run.sampling.clock;
  sampler::raise_descriptor_limit();
  RunFiles files(options.run, description.program, pid);
  bool attached = false;
  std::vector<attach::HiddenFile> hidden;
  try {
    sampler::EventLoop loop;
    attach::Session session(
        loop, pid,
        {files.recording(), description, rate_options(options.run.sampling, options.run.quiet),
         chosen_engine(options), options.run.follow, paused, false, files.segments()});
    attached = true;
    files.set_hidden([&session] { return session.hidden(); });
    const sampler::ControlSocket control(loop, session.controlled(), token);
    const FlushSignal flush(loop, [&session] { return session.flush(); });
    if (!options.run.quiet) say_what_begins(session, pid, description.program);
    sample(session, loop, options.duration_s);
    session.finish(session_end(session));
    hidden = session.hidden();
  } catch (const std::exception&) {
    if (!attached) files.remove();
    throw;
  }
  files.conclude(hidden);
  return 0;
}

void add_attach(CLI::App& app, Commands& commands) {
  CLI::App* command = app.add_subcommand("attach", "Profile a process that runs already");
  const auto options = std::make_shared<AttachOptions>();
  options->run.follow = false;
  command->add_option("PID", options->target, "Its pid, or its name where that is unique")
      ->required();
  add_run_options(*command, options->run);
  add_attach_options(*command, *options);
  commands.actions[command] = [options] { return attach_and_record(*options); };
}

}  // namespace sampan::cli
