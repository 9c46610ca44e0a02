#include "cli/run_from_outside.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <optional>

#include "attach/session.h"
#include "base/clock.h"
#include "cli/flush_signal.h"
#include "recording/writer.h"
#include "sampler/control_token.h"
#include "sampler/descriptor_limit.h"
#include "sampler/event_loop.h"
#include "sampler/launch.h"
#include "sampler/signal_relay.h"

namespace sampan::cli {
namespace {

class OutsideRun {
 public:
  OutsideRun(const RunOptions& options, const recording::Session& session, RunFiles& files)
      : options_(options), session_(session), files_(files), path_(files.recording()) {}

  sampler::ExitState record(const std::vector<std::string>& command,
                            const sampler::Preloadability& why);

 private:
  void attach_to(pid_t pid, bool awaits_exec) {
    sampling_ = std::make_unique<attach::Session>(
        loop_, pid,
        attach::SessionOptions{path_,
                               session_,
                               rate_options(options_.sampling, options_.quiet),
                               {},
                               options_.follow,
                               starts_paused(options_),
                               awaits_exec,
                               files_.segments()});
  }
  std::string attach_again(pid_t pid);
  sampler::ExitState let_run(const sampler::LaunchedProgram& program, const std::string& why);

  const RunOptions& options_;
  const recording::Session& session_;
  RunFiles& files_;
  const std::string path_;
  sampler::SignalRelay signals_;
  sampler::EventLoop loop_;
  std::unique_ptr<attach::Session> sampling_;
};

// The kernel takes perf events away from a program that has changed its rights. Returns why that
// could not be made good; the program runs already, so nothing is thrown.
std::string OutsideRun::attach_again(pid_t pid) {
  sampling_.reset();
  unlink(path_.c_str());
  try {
    attach_to(pid, false);
    return "";
  } catch (const std::exception& error) {
    sampling_.reset();
    return error.what();
  }
}

// Not sampled: only its end is recorded.
sampler::ExitState OutsideRun::let_run(const sampler::LaunchedProgram& program,
                                       const std::string& why) {
  const uint64_t start_ns = monotonic_ns();
  recording::Writer writer(path_, session_);
  bool ended = false;
  loop_.watch(program.pidfd.get(), [&ended] { ended = true; });
  while (!ended) loop_.wait(-1);
  const sampler::ProgramEnd end = sampler::wait_for(program);
  writer.finish({monotonic_ns() - start_ns, end.exit.status, end.exit.signal, end.user_cpu_ns,
                 end.system_cpu_ns, "It took other rights, and could not be sampled then: " + why});
  if (files_.segments() != nullptr) files_.segments()->finish(writer, monotonic_ns() - start_ns);
  return end.exit;
}

sampler::ExitState OutsideRun::record(const std::vector<std::string>& command,
                                      const sampler::Preloadability& why) {
  const std::string token = sampler::read_control_token();
  sampler::LaunchOptions launch_options{command, "", "", options_.follow};
  launch_options.before_exec = [this](pid_t pid) { attach_to(pid, true); };
  const sampler::LaunchedProgram program = sampler::launch(launch_options, signals_);
  loop_.watch(signals_.fd(), [&] { signals_.pass_on(program.pid); });
  if (why.kind == sampler::Preload::kOtherRights) {
    if (const std::string refused = attach_again(program.pid); !refused.empty()) {
      return let_run(program, refused);
    }
  }
  sampler::raise_descriptor_limit();
  if (!options_.quiet) {
    fmt::print(stderr, "sampan: {}: it is sampled from outside, with the {} engine\n", why.reason,
               attach::engine_name(sampling_->engine()));
  }
  if (options_.sections_only) {
    fmt::print(stderr, "sampan: from outside its sections are not known: all of it is sampled\n");
  }
  std::optional<sampler::ControlSocket> control;
  control.emplace(loop_, sampling_->controlled(), token);
  if (files_.segments() != nullptr) {
    signals_.take(SIGUSR1, [this] { flush_and_say([this] { return sampling_->flush(); }); });
  }
  while (!sampling_->root_ended()) sampling_->step();
  control.reset();
  sampling_->detach();
  const sampler::ProgramEnd end = sampler::wait_for(program);
  sampling_->finish({sampling_->outcome().end_ns - sampling_->start_ns(), end.exit.status,
                     end.exit.signal, end.user_cpu_ns, end.system_cpu_ns, sampling_->note()});
  return end.exit;
}

}  // namespace

sampler::ExitState record_from_outside(const std::vector<std::string>& command,
                                       const RunOptions& options,
                                       const sampler::Preloadability& why,
                                       const recording::Session& session, RunFiles& files) {
  return OutsideRun(options, session, files).record(command, why);
}

}  // namespace sampan::cli
