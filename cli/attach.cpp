// sampan attach [options] PID

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/processor.h"
#include "base/say.h"
#include "base/token_file.h"
#include "cli/command.h"
#include "cli/record.h"
#include "cli/signals.h"
#include "cli/values.h"
#include "sampler/inspect/permission.h"
#include "sampler/process/own_limits.h"
#include "sampler/process/proc_task.h"
#include "sampler/process/python_interpreter.h"

namespace sampan::cli {
namespace {

void say_what_begins(const sampler::RecordingSession& session, pid_t pid,
                     const std::string& program) {
  const std::string note = session.note();
  say("sampan: sampling process {} ({}) with the {} engine; Ctrl-C ends it\n", pid, program,
      session.engine());
  if (!note.empty()) say("sampan: {}\n", note);
  const auto python = session.python() ? sampler::find_python(pid) : std::nullopt;
  if (!python || !python->is_known) return;
  const bool by_perf = session.engine() == "perf";
  say("sampan: {}{}\n",
      by_perf
          ? "Python's functions are read just after each sample. Where that is too late, the stack "
            "has only native functions; the report counts such stacks."
          : "Python's functions are exact: they are read while the sampled thread is stopped.",
      by_perf && kHasPtraceEngine ? " --engine ptrace is never late: it stops the thread." : "");
}

// Samples until the process has ended, the time is over, or somebody stops it.
void sample(sampler::RecordingSession& session, uint64_t wanted_ns) {
  StopSignals signals;
  bool stopped = false;
  session.loop().watch(signals.fd(), [&] {
    signals.take();
    stopped = true;
  });
  const MonotonicNs begin_ns = monotonic_ns();
  while (!session.over() && !stopped) {
    const uint64_t passed_ns = monotonic_ns() - begin_ns;
    if (wanted_ns != 0 && passed_ns >= wanted_ns) break;
    const uint64_t left_ms = wanted_ns != 0 ? (wanted_ns - passed_ns) / 1'000'000 + 1 : INT32_MAX;
    session.step(static_cast<int>(std::min<uint64_t>(left_ms, INT32_MAX)));
  }
  session.detach();
  session.loop().forget(signals.fd());
}

recording::SessionEnd end_of(const sampler::RecordingSession& session) {
  recording::SessionEnd end = session_end(session);
  if (session.root_ended() && !session.root_exit().known() && end.note.empty()) {
    end.note = "The process has ended; the kernel does not tell how.";
  }
  return end;
}

}  // namespace

void add_attach_options(CLI::App& command, AttachOptions& options) {
  add_time_option(command, "-d,--duration",
                  "How long to sample, such as 10s or 2m (default: until the process ends)",
                  [&options](uint64_t ns) { options.duration_ns = ns; })
      ->envname("SAMPAN_DURATION");
  add_engine_option(command, options.engine, "How the process is sampled");
}

int attach_and_record(const AttachOptions& options) {
  const pid_t pid = sampler::find_process(options.target);
  if (const std::string why = sampler::why_not_profilable(pid); !why.empty()) {
    throw Error("{}", why);
  }
  check_options(options.run, pid);
  const std::string token = read_control_token();
  if (options.run.sections_only) {
    throw UsageError(
        "attach: --sections-only needs a program that sampan has launched: sampan run");
  }
  const recording::Session description = describe(sampler::command_line_of(pid), options.run);
  const sampler::OwnLimits limits;
  RunFiles files(options.run, description.program, pid);
  EventLoop loop;
  std::unique_ptr<sampler::RecordingSession> session;
  try {
    session = sampler::record_from_outside(
        loop, pid, record_options(options.run, description, files), options.engine);
  } catch (const std::exception&) {
    files.remove();
    throw;
  }
  files.set_hidden([&session] { return session->hidden(); });
  {
    const sampler::ControlSocket control(loop, session->controlled(), token);
    const FlushSignal flush(loop, [&session] { return session->flush(); });
    if (!options.run.quiet) say_what_begins(*session, pid, description.program);
    sample(*session, options.duration_ns);
    session->finish(end_of(*session));
  }
  files.keep(session->hidden());
  files.conclude();
  return 0;
}

void add_attach(CLI::App& app, Commands& commands) {
  CLI::App* command = app.add_subcommand("attach", "Profile a running process");
  const auto options = std::make_shared<AttachOptions>();
  options->run.follow = false;
  command
      ->add_option("-p,--pid,PID", options->target,
                   "A pid, or the name of a process if it is unique")
      ->type_name("PID");
  add_run_options(*command, options->run);
  add_attach_options(*command, *options);
  // They are for programs that sampan launches; their variables may be set for those.
  for (const char* const name : {"--strict", "--sections-only", "--max-sections"}) {
    command->get_option(name)->group("");
  }
  set_examples(*command,
               {"sampan attach -d 10s PID", "sampan attach -F 99 -d 1m redis-server",
                "sampan attach --clock wall -f flamegraph PID"},
               "sampan attach [OPTIONS] PID");
  commands.actions[command] = [options] {
    if (options->target.empty()) throw UsageError("attach: which process? sampan attach PID");
    return attach_and_record(*options);
  };
}

}  // namespace sampan::cli
