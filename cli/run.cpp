// sampan run [options] -- COMMAND [ARG...]
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "attach/preloaded_waits.h"
#include "attach/session.h"
#include "base/clock.h"
#include "cli/attach_options.h"
#include "cli/command.h"
#include "cli/flush_signal.h"
#include "cli/run_files.h"
#include "cli/run_from_outside.h"
#include "cli/run_options.h"
#include "cli/shim.h"
#include "recording/writer.h"
#include "sampler/collector.h"
#include "sampler/control_token.h"
#include "sampler/descriptor_limit.h"
#include "sampler/event_loop.h"
#include "sampler/launch.h"
#include "sampler/preloadable.h"
#include "sampler/program.h"
#include "sampler/session_info.h"
#include "sampler/signal_relay.h"

namespace sampan::cli {
namespace {

// Why there may be nothing to see, and what to do; "" when all is well.
// `outside`: why it could neither be preloaded nor sampled from outside.
std::string note_about(const std::string& outside, size_t joined, size_t still_running) {
  if (still_running > 0) {
    return fmt::format("{} {} still running: sampling ended with the command.", still_running,
                       still_running == 1 ? "process is" : "processes are");
  }
  if (!outside.empty()) return outside;
  if (joined > 0) return "";
  return "The program did not take the shim in, so nothing was sampled. Does it clear its "
         "environment, or end before main?";
}

// What was used while sampling was off is not asked for; which of it the kernel used is not known.
void leave_out(uint64_t left_out_ns, recording::SessionEnd& end) {
  const uint64_t of_user_ns = std::min(left_out_ns, end.user_cpu_ns);
  end.user_cpu_ns -= of_user_ns;
  end.system_cpu_ns -= std::min(left_out_ns - of_user_ns, end.system_cpu_ns);
}

// Runs the command, with the shim unless that is "", to its end; the recording is complete then.
sampler::ExitState record(const std::vector<std::string>& command, const RunOptions& options,
                          const std::string& shim, const std::string& outside,
                          const recording::Session& session, RunFiles& files) {
  sampler::SignalRelay signals;
  sampler::EventLoop loop;
  const uint64_t start_ns = session.start_monotonic_ns;
  recording::Writer writer(files.recording(), session);
  const std::string name = sampler::SessionSocket::random_name();
  attach::PreloadedWaits waits(writer, start_ns);
  sampler::Collector collector(loop, writer,
                               {name,
                                start_ns,
                                rate_options(options.sampling, options.quiet),
                                options.follow,
                                {starts_paused(options), options.sections_only},
                                options.sampling.clock == "wall" ? &waits : nullptr,
                                files.segments()});

  const sampler::ControlSocket control(loop, collector.controlled(), sampler::read_control_token());
  const sampler::LaunchedProgram program =
      sampler::launch({command, shim, name, options.follow}, signals);
  sampler::raise_descriptor_limit();
  collector.set_root(program.pid);
  bool ended = false;
  loop.watch(program.pidfd.get(), [&ended] { ended = true; });
  if (files.segments() != nullptr) {
    signals.take(SIGUSR1, [&] { flush_and_say([&] { return collector.flush(); }); });
  }
  loop.watch(signals.fd(), [&] { signals.pass_on(program.pid); });
  while (!ended) collector.step();

  const size_t still_running = collector.finish();
  const uint64_t end_ns = monotonic_ns();
  const sampler::ProgramEnd end = sampler::wait_for(program);
  try {
    if (!collector.failure().empty()) throw Error("{}", collector.failure());
    recording::SessionEnd row{
        end_ns - start_ns, end.exit.status,
        end.exit.signal,   end.user_cpu_ns,
        end.system_cpu_ns, note_about(outside, collector.joined(), still_running)};
    leave_out(collector.left_out_ns(), row);
    writer.finish(row);
    if (files.segments() != nullptr) files.segments()->finish(writer, row.time_ns);
  } catch (const std::exception& error) {
    fmt::print(stderr, "sampan: the recording is incomplete: {}\n", error.what());
  }
  return end.exit;
}

// By the shim, or from outside where it cannot be preloaded, or not at all: the program runs in any
// case.
sampler::ExitState record_somehow(const std::vector<std::string>& command,
                                  const RunOptions& options, const recording::Session& session,
                                  RunFiles& files) {
  const std::string shim = find_shim();
  const sampler::Preloadability program =
      sampler::preloadability(sampler::find_program(command[0]));
  if (program.kind == sampler::Preload::kYes) {
    return record(command, options, shim, "", session, files);
  }
  std::string outside = program.reason + ".";
  // Of a program with more rights than ours nobody may see anything.
  const bool may_look = program.kind != sampler::Preload::kOtherRights || geteuid() == 0;
  if (program.kind != sampler::Preload::kOtherMachine && may_look) {
    try {
      return record_from_outside(command, options, program, session, files);
    } catch (const attach::NotPermitted& refused) {
      outside += fmt::format(" From outside {}", refused.what());
    }
  }
  return record(command, options, program.refuses() ? "" : shim, outside, session, files);
}

sampler::ExitState launch_and_record(const std::vector<std::string>& command,
                                     const RunOptions& options) {
  recording::Session session =
      sampler::describe_session(command, options.name, options.sampling.rate_hz, SAMPAN_VERSION);
  session.clock = options.sampling.clock;
  RunFiles files(options, session.program);
  sampler::ExitState exit;
  try {
    exit = record_somehow(command, options, session, files);
  } catch (const std::exception&) {
    files.remove();  // the program did not start
    throw;
  }
  try {
    files.conclude();
  } catch (const std::exception& error) {
    fmt::print(stderr, "sampan: {}\nsampan: the recording is {}\n", error.what(),
               files.recording());
  }
  return exit;
}

int run(const std::vector<std::string>& command, const RunOptions& options) {
  if (command.empty()) throw UsageError("run: no program given\nsampan run [options] -- COMMAND");
  chosen_formats(options);  // what is wrong is said before the program starts
  segment_options(options.continuous, "");
  if (options.push.wanted()) push_options(options.push, 0);
  rate_options(options.sampling, options.quiet);
  starts_paused(options);
  try {
    return sampler::exit_like(launch_and_record(command, options));
  } catch (const sampler::LaunchError& error) {
    fmt::print(stderr, "sampan: {}\n", error.what());
    return error.exit_status;
  } catch (const Error& error) {
    fmt::print(stderr, "sampan: {}\n", error.what());
    return kExitRunFailure;
  }
}

void add(CLI::App& app, Commands& commands, const char* name, const char* description) {
  CLI::App* command = app.add_subcommand(name, description);
  command->footer(fmt::format("sampan {} [OPTIONS] -- COMMAND [ARG...]", name));
  const auto options = std::make_shared<RunOptions>();
  add_run_options(*command, *options);
  commands.actions[command] = [options, &commands] { return run(commands.program, *options); };
}

// `run`, and with -p `attach`.
void add_record(CLI::App& app, Commands& commands) {
  CLI::App* command = app.add_subcommand("record", "The same as run; with -p PID, as attach");
  command->footer("sampan record [OPTIONS] [-p PID | -- COMMAND [ARG...]]");
  const auto options = std::make_shared<AttachOptions>();
  add_run_options(*command, options->run);
  add_attach_options(*command, *options);
  CLI::Option* pid = command->add_option("-p,--pid", options->target, "Profile a running process");
  pid->type_name("PID");
  const CLI::Option* follow = command->get_option("--follow");
  commands.actions[command] = [options, follow, &commands] {
    if (options->target.empty()) return run(commands.program, options->run);
    if (!commands.program.empty()) throw UsageError("record: either -p PID or a command");
    if (follow->count() == 0) options->run.follow = false;
    return attach_and_record(*options);
  };
}

}  // namespace

void add_run(CLI::App& app, Commands& commands) {
  add(app, commands, "run", "Launch a program and profile it");
  add_record(app, commands);
}

}  // namespace sampan::cli
