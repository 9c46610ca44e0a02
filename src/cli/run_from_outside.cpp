#include "cli/run_from_outside.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "attach/session.h"
#include "base/clock.h"
#include "recording/writer.h"
#include "sampler/descriptor_limit.h"
#include "sampler/event_loop.h"
#include "sampler/launch.h"
#include "sampler/signal_relay.h"

namespace sampan::cli {
namespace {

class OutsideRun {
 public:
  OutsideRun(const RunOptions& options, const recording::Session& session, const std::string& path)
      : options_(options), session_(session), path_(path) {}

  sampler::ExitState record(const std::vector<std::string>& command,
                            const sampler::Preloadability& why);

 private:
  void attach_to(pid_t pid, bool awaits_exec) {
    sampling_ = std::make_unique<attach::Session>(
        loop_, pid, attach::SessionOptions{path_, session_, {}, options_.follow, awaits_exec});
  }
  std::string attach_again(pid_t pid);
  sampler::ExitState let_run(const sampler::LaunchedProgram& program, const std::string& why);

  const RunOptions& options_;
  const recording::Session& session_;
  const std::string& path_;
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
  return end.exit;
}

sampler::ExitState OutsideRun::record(const std::vector<std::string>& command,
                                      const sampler::Preloadability& why) {
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
  while (!sampling_->root_ended()) sampling_->step();
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
                                       const recording::Session& session, const std::string& path) {
  return OutsideRun(options, session, path).record(command, why);
}

}  // namespace sampan::cli
