// A command that is launched and recorded to its end: with the shim in it, or from outside where
// the shim cannot be preloaded. What can fail is done before the program executes: then nothing runs,
// and an Error is thrown. What fails later costs the recording, and neither the program nor its status.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/event_loop.h"
#include "base/token_file.h"
#include "cli/record.h"
#include "cli/run_options.h"
#include "sampler/control/control_socket.h"
#include "sampler/launch/event_counter.h"
#include "sampler/launch/launch.h"
#include "sampler/launch/program.h"
#include "sampler/process/own_limits.h"

namespace sampan::cli {

class RecordedRun {
 public:
  RecordedRun(const std::vector<std::string>& command, const RunOptions& options, RunFiles& files,
              const recording::Session& description, const sampler::OwnLimits& limits)
      : command_(command),
        options_(options),
        files_(files),
        description_(description),
        limits_(limits) {}

  // `shim`: "": it is not preloaded. `outside`: why it could be neither preloaded nor sampled from
  // outside; "" when it can.
  sampler::ExitState with_shim(const std::string& shim, const std::string& outside);
  // Throws NotPermitted when no engine is permitted: the program has not been started then.
  sampler::ExitState from_outside(const sampler::Preloadability& why);

 private:
  void sample_as_shim(const std::string& socket) {
    session_ = sampler::record_with_shim(loop_, record_options(options_, description_, files_),
                                         {.socket = socket,
                                          .sections_only = options_.sections_only,
                                          .python = options_.python,
                                          .clock = options_.sampling_clock,
                                          .watched = options_.watched});
  }
  void sample_from_outside(pid_t pid, bool awaits_exec) {
    session_ = sampler::record_from_outside(
        loop_, pid, record_options(options_, description_, files_), "auto", awaits_exec);
  }
  void listen();
  void watch(const sampler::LaunchedProgram& program);
  std::string attach_again(pid_t pid);
  void count(const sampler::LaunchedProgram& program);
  void say_how(const sampler::Preloadability& why) const;
  void let_run(bool outside);
  void only_wait_for(const sampler::LaunchedProgram& program);
  // `record` lets the program run to its end, or to ours, and returns how the session has ended.
  sampler::ExitState see_to_end(const sampler::LaunchedProgram& program,
                                const std::function<recording::SessionEnd()>& record);
  void finish(recording::SessionEnd row, const sampler::ProgramEnd& end);

  const std::vector<std::string>& command_;
  const RunOptions& options_;
  RunFiles& files_;
  const recording::Session& description_;
  const sampler::OwnLimits& limits_;
  const std::string token_ = read_control_token();  // before the program starts
  sampler::SignalRelay signals_;
  EventLoop loop_;
  std::unique_ptr<sampler::RecordingSession> session_;
  std::optional<sampler::ControlSocket> control_;  // of the session
  std::optional<sampler::EventCounter> counter_;   // of instructions, if asked for
  bool ended_ = false;                             // the program has
  bool abandoned_ = false;                         // options_.owner has
};

}  // namespace sampan::cli
