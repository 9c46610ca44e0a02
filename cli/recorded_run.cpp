#include "cli/recorded_run.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "base/say.h"
#include "cli/signals.h"
#include "sampler/inspect/permission.h"

namespace sampan::cli {
namespace {

// Says why there may be nothing to see, and what to do; "" if all is well.
std::string note_about(const std::string& outside, size_t joined, size_t still_running) {
  if (still_running > 0) {
    return fmt::format("{} {} still running: sampling ended with the command.", still_running,
                       still_running == 1 ? "process is" : "processes are");
  }
  if (!outside.empty()) return outside;
  if (joined > 0) return "";
  if (const std::string why = sampler::why_no_address_space(); !why.empty()) {
    return why + ": nothing was sampled.";
  }
  return "The shim was not loaded into the program, so nothing was sampled. Does the program clear "
         "its environment, or end before main?";
}

}  // namespace

void RecordedRun::listen() {
  files_.set_hidden([this] { return session_->hidden(); });
  control_.emplace(loop_, session_->controlled(), token_);
}

void RecordedRun::watch(const sampler::LaunchedProgram& program) {
  listen();
  count(program);
  const pid_t pid = program.pid;
  loop_.watch(program.pidfd.get(), [this] { ended_ = true; });
  if (files_.segments() != nullptr) {
    signals_.take(SIGUSR1, [this] { flush_and_say([this] { return session_->flush(); }); });
  }
  loop_.watch(signals_.fd(), [this, pid] {
    signals_.pass_on(pid);
    // Our owner waits for the end of the command, which may be stopped.
    if (options_.owner >= 0) kill(pid, SIGCONT);
  });
  if (options_.owner >= 0) loop_.watch(options_.owner, [this] { abandoned_ = true; });
}

void RecordedRun::count(const sampler::LaunchedProgram& program) {
  if (!options_.instructions) return;
  counter_.emplace(program.pid);
  if (counter_->error() == 0 || options_.quiet) return;
  say("sampan: instructions are not counted: {}\n",
      sampler::why_perf_refused(program.pid, counter_->error()));
}

// From outside, samples of its last moments may still be on their way when it has ended.
void RecordedRun::let_run(bool outside) {
  const auto is_over = [&] {
    return outside ? session_->root_ended() : ended_ && !session_->follows_root_from_outside();
  };
  while (!abandoned_ && !is_over()) session_->step();
}

void RecordedRun::only_wait_for(const sampler::LaunchedProgram& program) {
  pollfd waited[] = {{program.pidfd.get(), POLLIN, 0}, {signals_.fd(), POLLIN, 0}};
  while (poll(waited, 2, -1) < 0 || waited[0].revents == 0) signals_.pass_on(program.pid);
}

sampler::ExitState RecordedRun::see_to_end(const sampler::LaunchedProgram& program,
                                           const std::function<recording::SessionEnd()>& record) {
  std::optional<recording::SessionEnd> row;
  try {
    row = record();
  } catch (const std::exception& error) {
    say("sampan: the recording is incomplete: {}\n", error.what());
    only_wait_for(program);
  }
  control_.reset();
  sampler::ProgramEnd end{};
  if (!abandoned_) end = sampler::wait_for(program);
  if (row) finish(*row, end);
  return end.exit;
}

// `row`: its time, and its note.
void RecordedRun::finish(recording::SessionEnd row, const sampler::ProgramEnd& end) {
  row.exit_status = end.exit.status;
  row.exit_signal = end.exit.signal;
  // CPU that was used while sampling was off was not asked for; which of it the kernel used is not
  // known.
  const uint64_t left_out_ns = session_->left_out_ns();
  const uint64_t of_user_ns = std::min(left_out_ns, end.user_cpu_ns);
  row.user_cpu_ns = end.user_cpu_ns - of_user_ns;
  row.system_cpu_ns = end.system_cpu_ns - std::min(left_out_ns - of_user_ns, end.system_cpu_ns);
  if (counter_) row.instructions = counter_->count();
  try {
    files_.keep(session_->hidden());
    session_->finish(row);
  } catch (const std::exception& error) {
    say("sampan: the recording is incomplete: {}\n", error.what());
  }
}

sampler::ExitState RecordedRun::with_shim(const std::string& shim, const std::string& outside) {
  const std::string socket = sampler::random_socket_name();
  sample_as_shim(socket);
  const auto before_exec = [this](const sampler::LaunchedProgram& program) {
    session_->set_root(program.pid);
    watch(program);
  };
  const sampler::LaunchedProgram program =
      sampler::launch({command_, shim, socket, options_.follow, options_.environment, before_exec},
                      signals_, limits_);
  return see_to_end(program, [&] {
    let_run(false);
    const size_t still_running = session_->detach();
    recording::SessionEnd end;
    end.time_ns = session_->clock().at(monotonic_ns());
    end.note = abandoned_
                   ? "The sampan that asked for this recording has ended; the program lived on."
                   : note_about(outside, session_->joined(), still_running);
    if (end.note.empty()) end.note = session_->note();
    return end;
  });
}

// The kernel takes perf events away from a program that has changed its rights. Returns why that
// could not be made good; the program runs already, so nothing is thrown.
std::string RecordedRun::attach_again(pid_t pid) {
  control_.reset();
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
    say("sampan: {}: it is sampled from outside, with the {} engine\n", why.reason,
        session_->engine());
  }
  if (options_.sections_only) {
    say("sampan: its sections are not known from outside: all of it is sampled\n");
  }
  if (options_.watched.any()) {
    say("sampan: its allocations and locks are not known from outside: --heap and --locks have no "
        "effect\n");
  }
}

sampler::ExitState RecordedRun::from_outside(const sampler::Preloadability& why) {
  const auto before_exec = [this](const sampler::LaunchedProgram& program) {
    sample_from_outside(program.pid, true);
    watch(program);
  };
  const sampler::LaunchedProgram program = sampler::launch(
      {command_, "", "", options_.follow, options_.environment, before_exec}, signals_, limits_);
  return see_to_end(program, [&] {
    const bool changes_rights = why.kind == sampler::Preload::kOtherRights;
    const std::string refused = changes_rights ? attach_again(program.pid) : "";
    if (!refused.empty()) sample_as_shim(sampler::random_socket_name());  // nobody joins
    if (changes_rights) listen();
    if (refused.empty()) say_how(why);
    let_run(refused.empty());
    session_->detach();
    recording::SessionEnd end = session_end(*session_);
    if (!refused.empty()) {  // only its end is recorded
      end.time_ns = session_->clock().at(monotonic_ns());
      end.note = "It changed its rights, and could not be sampled after that: " + refused;
    }
    return end;
  });
}

}  // namespace sampan::cli
