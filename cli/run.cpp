// sampan run [options] -- COMMAND [ARG...]
#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/say.h"
#include "cli/command.h"
#include "cli/record.h"
#include "cli/recorded_run.h"
#include "cli/values.h"
#include "sampler/launch/launch.h"
#include "sampler/launch/program.h"
#include "sampler/process/own_limits.h"
#include "symbolizer/name_cache.h"

namespace sampan::cli {
namespace {

constexpr const char* kShim = "libsampan_preload.so";
constexpr const char* kShimWithWrappers = "libsampan_wrappers.so";

// Beside the program (a build directory), or where `meson install` puts it. Returns an absolute
// path. Throws Error, which says where it was looked for.
std::string find_shim(const char* name) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  if (error) throw Error("/proc/self/exe: {}: sampan needs /proc", error.message());
  const fs::path installed = (here / SAMPAN_SHIM_FOLDER).lexically_normal();
  for (const fs::path& place : {here, installed}) {
    if (access((place / name).c_str(), R_OK) == 0) return place / name;
  }
  throw Error("{} was found neither in {} nor in {}: build or install sampan whole", name,
              here.string(), installed.string());
}

// The loader splits LD_PRELOAD at blanks and colons. A shim with one in its path is preloaded by a link in the
// user's cache, which stays: children may outlive sampan. Without a cache the path itself, which `launch`
// refuses.
std::string preloadable(const std::string& shim) {
  namespace fs = std::filesystem;
  if (shim.find_first_of(sampler::kEndsOfPreloaded) == std::string::npos) return shim;
  const std::string cache = symbolizer::default_cache_directory();
  if (cache.empty()) return shim;
  const fs::path folder = fmt::format("{}/shim-{:016x}", cache, std::hash<std::string>()(shim));
  const fs::path link = folder / fs::path(shim).filename();
  std::error_code error;
  fs::create_directories(folder, error);
  fs::create_symlink(shim, link, error);
  return fs::read_symlink(link, error) == shim ? link.string() : shim;
}

// Samples by the shim; from outside if it cannot be preloaded; or not at all. The program runs in any
// case.
sampler::ExitState record_somehow(const std::vector<std::string>& command,
                                  const RunOptions& options, const recording::Session& session,
                                  RunFiles& files, const sampler::OwnLimits& limits) {
  const std::string shim =
      preloadable(find_shim(options.watched.any() ? kShimWithWrappers : kShim));
  const sampler::Preloadability program =
      sampler::preloadability(sampler::find_program(command[0]), command);
  const auto run = [&] { return RecordedRun(command, options, files, session, limits); };
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
  const sampler::OwnLimits limits;
  const recording::Session session = describe(command, options);
  RunFiles files(options, session.program);
  sampler::ExitState exit;
  try {
    exit = record_somehow(command, options, session, files, limits);
  } catch (const std::exception&) {
    files.remove();  // the program did not start
    throw;
  }
  try {
    files.conclude();
  } catch (const std::exception& error) {
    say("sampan: {}\nsampan: the recording is {}\n", error.what(), files.recording());
  }
  return exit;
}

}  // namespace

int run_and_record(const std::vector<std::string>& command, const RunOptions& options) {
  if (command.empty()) throw UsageError("run: no program given\nsampan run [options] -- COMMAND");
  check_options(options, 0);
  try {
    try {
      return sampler::exit_like(launch_and_record(command, options));
    } catch (const sampler::LaunchError&) {
      throw;
    } catch (const std::exception& error) {
      say("sampan: {}\n", error.what());
      if (options.strict) return kExitRunFailure;
      say("sampan: nothing is recorded, and the program runs without it (--strict does not run "
          "it)\n");
    }
    sampler::become({command, "", "", options.follow, options.environment});
  } catch (const sampler::LaunchError& error) {
    say("sampan: {}\n", error.what());
    return error.exit_status;
  }
}

namespace {

void add_launcher(CLI::App& app, Commands& commands) {
  CLI::App* command = app.add_subcommand("run", "Launch a program and profile it");
  set_examples(*command,
               {"sampan run -- ./program its arguments",
                "sampan run --clock wall -F 99 -- python3 service.py",
                "sampan run -f flamegraph -o profiles -- make -j8"},
               "sampan run [OPTIONS] -- COMMAND [ARG...]");
  const auto options = std::make_shared<RunOptions>();
  add_run_options(*command, *options);
  add_sampling_clock_option(*command, options->sampling_clock);
  add_watch_options(*command, options->watched);
  commands.actions[command] = [options, &commands] {
    return run_and_record(commands.program, *options);
  };
}

// "perf record -p PID -- sleep 10" samples for as long as the command runs. Only sleep is known here.
uint64_t duration_of(const std::vector<std::string>& program) {
  if (program.size() != 2 || program.front() != "sleep") {
    throw UsageError(
        "record: either -p PID or a command; -d 10s, or -- sleep 10, ends a recording with -p");
  }
  return time_value("sleep", program.back());
}

// `run`, and with -p `attach`.
void add_record(CLI::App& app, Commands& commands) {
  CLI::App* command = app.add_subcommand(
      "record", "Launch a program and profile it, as run; with -p PID a running one, as attach");
  set_examples(
      *command,
      {"sampan record -- ./program its arguments", "sampan record -F 99 -g -p PID -- sleep 10",
       "sampan record -d 30s -p redis-server"},
      "sampan record [OPTIONS] [-p PID | -- COMMAND [ARG...]]");
  const auto options = std::make_shared<AttachOptions>();
  add_run_options(*command, options->run);
  add_attach_options(*command, *options);
  CLI::Option* pid = command->add_option("-p,--pid", options->target, "Profile a running process");
  pid->type_name("PID");
  const CLI::Option* follow = command->get_option("--follow");
  commands.actions[command] = [options, follow, &commands] {
    if (options->target.empty()) return run_and_record(commands.program, options->run);
    // It is not run, so the exit status is ours.
    const std::vector<std::string> program = std::exchange(commands.program, {});
    if (!program.empty()) options->duration_ns = duration_of(program);
    if (follow->count() == 0) options->run.follow = false;
    return attach_and_record(*options);
  };
}

}  // namespace

void add_run(CLI::App& app, Commands& commands) {
  add_launcher(app, commands);
  add_record(app, commands);
}

}  // namespace sampan::cli
