// sampan run [options] -- COMMAND [ARG...]
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/event_loop.h"
#include "base/token_file.h"
#include "cli/command.h"
#include "cli/record.h"
#include "cli/signals.h"
#include "sampler/launch/launch.h"
#include "sampler/launch/program.h"
#include "sampler/process/kernel_limits.h"

namespace sampan::cli {
namespace {

// A command that is launched and recorded to its end: with the shim in it, or from outside where
// the shim cannot be preloaded.
class RecordedRun {
 public:
  RecordedRun(const std::vector<std::string>& command, const RunOptions& options, RunFiles& files,
              const recording::Session& description)
      : command_(command), options_(options), files_(files), description_(description) {}

  // `shim`: "": it is not preloaded. `outside`: why it could be neither preloaded nor sampled from
  // outside; "" when it can.
  sampler::ExitState with_shim(const std::string& shim, const std::string& outside);
  // Throws NotPermitted when no engine is permitted: the program has not been started then.
  sampler::ExitState from_outside(const sampler::Preloadability& why);

 private:
  void sample_as_shim(const std::string& socket) {
    session_ = sampler::record_with_shim(loop_, record_options(options_, description_, files_),
                                         {socket, options_.sections_only, options_.python});
  }
  void sample_from_outside(pid_t pid, bool awaits_exec) {
    session_ = sampler::record_from_outside(
        loop_, pid, record_options(options_, description_, files_), "auto", awaits_exec);
  }
  std::string attach_again(pid_t pid);
  void say_how(const sampler::Preloadability& why) const;
  // Lets the program run to its end.
  void let_run(const sampler::LaunchedProgram& program, bool outside);
  sampler::ExitState finish(const sampler::LaunchedProgram& program, recording::SessionEnd end);

  const std::vector<std::string>& command_;
  const RunOptions& options_;
  RunFiles& files_;
  const recording::Session& description_;
  const std::string token_ = read_control_token();  // before the program starts
  sampler::SignalRelay signals_;
  EventLoop loop_;
  std::unique_ptr<sampler::RecordingSession> session_;
};

void RecordedRun::let_run(const sampler::LaunchedProgram& program, bool outside) {
  sampler::raise_descriptor_limit();
  const sampler::ControlSocket control(loop_, session_->controlled(), token_);
  bool ended = false;
  loop_.watch(program.pidfd.get(), [&ended] { ended = true; });
  if (files_.segments() != nullptr) {
    signals_.take(SIGUSR1, [&] { flush_and_say([&] { return session_->flush(); }); });
  }
  loop_.watch(signals_.fd(), [&] { signals_.pass_on(program.pid); });
  // From outside, samples of its last moments may still be on their way.
  while (!(outside ? session_->root_ended() : ended)) session_->step();
}

// `end`: its time, and its note.
sampler::ExitState RecordedRun::finish(const sampler::LaunchedProgram& program,
                                       recording::SessionEnd row) {
  const sampler::ProgramEnd end = sampler::wait_for(program);
  row.exit_status = end.exit.status;
  row.exit_signal = end.exit.signal;
  // CPU that was used while sampling was off was not asked for; which of it the kernel used is not
  // known.
  const uint64_t left_out_ns = session_->engine().empty() ? session_->left_out_ns() : 0;
  const uint64_t of_user_ns = std::min(left_out_ns, end.user_cpu_ns);
  row.user_cpu_ns = end.user_cpu_ns - of_user_ns;
  row.system_cpu_ns = end.system_cpu_ns - std::min(left_out_ns - of_user_ns, end.system_cpu_ns);
  try {
    session_->finish(row);
  } catch (const std::exception& error) {
    fmt::print(stderr, "sampan: the recording is incomplete: {}\n", error.what());
  }
  return end.exit;
}

// Says why there may be nothing to see, and what to do; "" if all is well.
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

sampler::ExitState RecordedRun::with_shim(const std::string& shim, const std::string& outside) {
  const std::string socket = sampler::random_socket_name();
  sample_as_shim(socket);
  const sampler::LaunchedProgram program =
      sampler::launch({command_, shim, socket, options_.follow, options_.environment}, signals_);
  session_->set_root(program.pid);
  let_run(program, false);
  const size_t still_running = session_->detach();
  recording::SessionEnd end;
  end.time_ns = session_->clock().at(monotonic_ns());
  end.note = note_about(outside, session_->joined(), still_running);
  return finish(program, end);
}

// The kernel takes perf events away from a program that has changed its rights. Returns why that
// could not be made good; the program runs already, so nothing is thrown.
std::string RecordedRun::attach_again(pid_t pid) {
  session_.reset();
  unlink(files_.recording().c_str());
  try {
    sample_from_outside(pid, false);
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

void RecordedRun::say_how(const sampler::Preloadability& why) const {
  if (!options_.quiet) {
    fmt::print(stderr, "sampan: {}: it is sampled from outside, with the {} engine\n", why.reason,
               session_->engine());
  }
  if (options_.sections_only) {
    fmt::print(stderr, "sampan: its sections are not known from outside: all of it is sampled\n");
  }
}

sampler::ExitState RecordedRun::from_outside(const sampler::Preloadability& why) {
  sampler::LaunchOptions launching{command_, "", "", options_.follow, options_.environment};
  launching.before_exec = [this](pid_t pid) { sample_from_outside(pid, true); };
  const sampler::LaunchedProgram program = sampler::launch(launching, signals_);
  const bool changes_rights = why.kind == sampler::Preload::kOtherRights;
  const std::string refused = changes_rights ? attach_again(program.pid) : "";
  if (!refused.empty()) {  // only its end is recorded: nobody joins
    sample_as_shim(sampler::random_socket_name());
    let_run(program, false);
  } else {
    say_how(why);
    let_run(program, true);
  }
  session_->detach();
  recording::SessionEnd end = session_end(*session_);
  if (!refused.empty()) {
    end.time_ns = session_->clock().at(monotonic_ns());
    end.note = "It changed its rights, and could not be sampled after that: " + refused;
  }
  return finish(program, end);
}

constexpr const char* kShim = "libsampan_preload.so";

// Beside the program (a build directory), or where `meson install` puts it. Returns an absolute
// path. Throws Error, which says where it was looked for.
std::string find_shim() {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  const fs::path libraries = here.parent_path() / "lib";
  std::vector<fs::path> places = {here, libraries / "sampan"};
  for (const auto& entry : fs::directory_iterator(libraries, error)) {
    places.push_back(entry.path() / "sampan");  // lib/x86_64-linux-gnu/sampan
  }
  for (const fs::path& place : places) {
    if (access((place / kShim).c_str(), R_OK) == 0) return place / kShim;
  }
  throw Error("{} was found neither in {} nor in {}: build or install sampan whole", kShim,
              here.string(), (libraries / "sampan").string());
}

// Samples by the shim; from outside if it cannot be preloaded; or not at all. The program runs in any
// case.
sampler::ExitState record_somehow(const std::vector<std::string>& command,
                                  const RunOptions& options, const recording::Session& session,
                                  RunFiles& files) {
  const std::string shim = find_shim();
  const sampler::Preloadability program =
      sampler::preloadability(sampler::find_program(command[0]));
  const auto run = [&] { return RecordedRun(command, options, files, session); };
  if (program.kind == sampler::Preload::kYes) return run().with_shim(shim, "");
  std::string outside = program.reason + ".";
  // We may not look into a program with more rights than ours.
  const bool may_look = program.kind != sampler::Preload::kOtherRights || geteuid() == 0;
  if (program.kind != sampler::Preload::kOtherMachine && may_look) {
    try {
      return run().from_outside(program);
    } catch (const sampler::NotPermitted& refused) {
      outside += fmt::format(" From outside {}", refused.what());
    }
  }
  return run().with_shim(program.refuses() ? "" : shim, outside);
}

sampler::ExitState launch_and_record(const std::vector<std::string>& command,
                                     const RunOptions& options) {
  const recording::Session session = describe(command, options);
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

}  // namespace

int run_and_record(const std::vector<std::string>& command, const RunOptions& options) {
  if (command.empty()) throw UsageError("run: no program given\nsampan run [options] -- COMMAND");
  check_options(options, 0);
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

namespace {

void add(CLI::App& app, Commands& commands, const char* name, const char* description) {
  CLI::App* command = app.add_subcommand(name, description);
  command->footer(fmt::format("sampan {} [OPTIONS] -- COMMAND [ARG...]", name));
  const auto options = std::make_shared<RunOptions>();
  add_run_options(*command, *options);
  commands.actions[command] = [options, &commands] {
    return run_and_record(commands.program, *options);
  };
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
    if (options->target.empty()) return run_and_record(commands.program, options->run);
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
