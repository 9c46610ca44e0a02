#include "remote/top/loop.h"

#include <fmt/core.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/text/readable.h"
#include "profile/load.h"
#include "wire/control_block.h"

namespace sampan::top {
namespace {

// Looking up names may take this much CPU at once, plus a hundredth of the elapsed time. The cost
// is only known afterwards: a large program uses up the allowance of some time to come.
constexpr uint64_t kBudgetAtOnceNs = 1'000'000'000;
constexpr uint64_t kShare = 100;

using Kind = Request::Kind;

class Loop {
 public:
  Loop(Terminal& terminal, Source& source, History& history, Refresher& refresher, Screen& screen,
       const LoopOptions& options)
      : terminal_(terminal),
        source_(source),
        history_(history),
        refresher_(refresher),
        screen_(screen),
        options_(options) {}

  std::string run() {
    terminal_.stay_awake();
    while (!quits_) {
      const MonotonicNs now_ns = monotonic_ns();
      if (now_ns >= next_ns_) refresh(now_ns);
      terminal_.draw(screen_.draw(terminal_.size()));
      wait();
      take_keys();
    }
    screen_.say("");
    end_saving();
    return screen_.status.message;
  }

 private:
  void refresh(MonotonicNs now_ns) {
    next_ns_ = now_ns + options_.delay_ns;
    if (refresher_.complete()) return;
    attempt([&] { refresher_.refresh(); });
    if (refresher_.complete()) say_how_it_ended();
    if (!screen_.status.frozen) screen_.refresh(history_);
    const auto& losses = history_.profile().losses;
    screen_.status.lost = std::accumulate(losses.begin(), losses.end(), uint64_t{0});
  }

  void say_how_it_ended() {
    const auto& end = history_.profile().end;
    const std::string how = end ? ended(end->exit_status, end->exit_signal) : "";
    screen_.status.ended = "Ended" + (how.empty() ? "" : ": " + how) + " (q quits)";
  }

  void wait() {
    const MonotonicNs now_ns = monotonic_ns();
    const uint64_t left_ns = next_ns_.since(now_ns);
    pollfd files[2] = {
        {.fd = terminal_.is_ours() ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0},
        {.fd = options_.stop_fd, .events = POLLIN, .revents = 0}};
    poll(files, 2, static_cast<int>(left_ns / 1'000'000 + 1));
    if ((files[1].revents & POLLIN) != 0) quits_ = true;
  }

  void take_keys() {
    while (const std::optional<uint32_t> key = terminal_.key()) {
      if (*key == 0) continue;  // resized: the next picture uses the new size
      perform(screen_.press(*key, history_));
      if (quits_) return;
    }
    quits_ = quits_ || terminal_.hung_up();
  }

  void perform(const Request& request) {
    switch (request.kind) {
      case Kind::kNothing: break;
      case Kind::kQuit: quits_ = true; break;
      case Kind::kFreeze: freeze(); break;
      case Kind::kPause: pause(); break;
      case Kind::kFaster: change_rate(screen_.status.rate_hz * 2); break;
      case Kind::kSlower: change_rate(screen_.status.rate_hz / 2); break;
      case Kind::kBeginSaving: begin_saving(request.text); break;
      case Kind::kEndSaving: end_saving(); break;
      case Kind::kOpenPage: open_page(); break;
    }
  }

  void freeze() {
    screen_.status.frozen = !screen_.status.frozen;
    screen_.status.frozen ? history_.freeze() : history_.thaw();
    screen_.refresh(history_);
  }

  void pause() {
    attempt([&] {
      source_.control(screen_.status.paused ? "resume" : "pause");
      screen_.status.paused = !screen_.status.paused;
    });
  }

  void change_rate(unsigned rate_hz) {
    rate_hz = std::clamp(rate_hz, 1u, wire::kHighestRateHz);
    attempt([&] {
      screen_.say(source_.control(fmt::format("rate {}", rate_hz)));
      screen_.status.rate_hz = rate_hz;
    });
  }

  void begin_saving(const std::string& path) {
    if (access(path.c_str(), F_OK) == 0) return screen_.say(path + " exists: nothing is saved");
    saved_from_ns_ = source_.now_ns();
    screen_.status.saving = path;
    screen_.say("Saving from now on into " + path + ": w again, or q, writes it");
  }

  void end_saving() {
    if (screen_.status.saving.empty()) return;
    const std::string path = std::move(screen_.status.saving);
    screen_.status.saving.clear();
    attempt([&] {
      options_.save(source_.since(saved_from_ns_), path);
      screen_.say("Written: " + path);
    });
  }

  void open_page() {
    screen_.say("Writing the page ...");
    terminal_.draw(screen_.draw(terminal_.size()));
    attempt([&] { screen_.say("The page: " + options_.open_page(source_.since(0))); });
  }

  // Errors are shown, and the loop goes on.
  template <typename Step>
  void attempt(Step&& step) {
    try {
      step();
    } catch (const Error& error) {
      screen_.say(error.what());
    }
  }

  Terminal& terminal_;
  Source& source_;
  History& history_;
  Refresher& refresher_;
  Screen& screen_;
  const LoopOptions& options_;
  MonotonicNs next_ns_ = 0;
  SessionNs saved_from_ns_ = 0;
  bool quits_ = false;
};

}  // namespace

void Refresher::refresh() {
  if (complete_) return;
  const bool over = source_.over();
  Slice slice = source_.next();
  const SessionNs from_ns = slice.from_ns, to_ns = slice.to_ns;
  history_.add(profile::load(std::move(slice.recording), python_), from_ns, to_ns);
  complete_ = over;
  find_names();
}

void Refresher::find_names() {
  const MonotonicNs now_ns = monotonic_ns();
  if (began_ns_ == 0) began_ns_ = now_ns;
  const bool may_spend = spent_ns_ <= kBudgetAtOnceNs + (now_ns - began_ns_) / kShare;
  if (!history_.lacks_names() || (!may_spend && !complete_)) return;
  const uint64_t before_ns = read_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  history_.find_names(namer_);
  spent_ns_ += read_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - before_ns;
}

std::string watch(Terminal& terminal, Source& source, History& history, Refresher& refresher,
                  Screen& screen, const LoopOptions& options) {
  return Loop(terminal, source, history, refresher, screen, options).run();
}

}  // namespace sampan::top
