#include "remote/push/pusher.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "base/error.h"

namespace sampan::push {
namespace {

constexpr int kLowPriority = 10;
// Another process may have added something to the spool, or given it up.
constexpr std::chrono::seconds kPollSpool{5};

}  // namespace

Pusher::Pusher(PushOptions options)
    : options_(std::move(options)),
      spool_(options_.spool + "/" +
             directory_name(options_.send.destination, options_.send.access.headers)),
      sender_(spool_, options_.send) {
  encoded_pairs(options_.labels.pairs());  // loads libcurl now, not while something is recorded
}

Pusher::~Pusher() {
  if (thread_.joinable()) finish(std::chrono::nanoseconds(0));
}

void Pusher::add(const std::string& recording, std::vector<symbolizer::Substitute> substitutes) {
  try {
    const bool linked = spool_.link(recording, options_.labels);
    const std::lock_guard lock(mutex_);
    if (!linked) pending_.push_back(recording);
    substitutes_ = std::move(substitutes);
    woken_ = true;
    start();
  } catch (const std::exception& error) {
    options_.send.say(fmt::format("{} is not pushed: {}", recording, error.what()));
  }
  changed_.notify_all();
}

// Signals are handled by the other threads.
void Pusher::start() {
  if (thread_.joinable()) return;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  try {
    thread_ = std::thread([this] { work(); });
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Summary Pusher::finish(std::chrono::nanoseconds timeout) {
  {
    const std::lock_guard lock(mutex_);
    finishing_ = true;
    deadline_ = Clock::now() + timeout;
    woken_ = true;
    start();
  }
  changed_.notify_all();
  thread_.join();
  return {sender_.counts(), spool_.waiting()};
}

bool Pusher::stopped() {
  const std::lock_guard lock(mutex_);
  return Clock::now() >= deadline_;
}

void Pusher::take_added() {
  std::vector<std::string> recordings;
  {
    const std::lock_guard lock(mutex_);
    recordings.swap(pending_);
    sender_.know(substitutes_);
    woken_ = false;
  }
  for (const std::string& recording : recordings) {
    try {
      spool_.copy(recording, options_.labels);
    } catch (const Error& error) {
      options_.send.say(fmt::format("{} is not pushed: {}", recording, error.what()));
    }
  }
}

void Pusher::work() {
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kLowPriority);
  while (true) {
    take_added();
    std::optional<Clock::time_point> next;
    if (!stopped()) {
      try {
        next = sender_.step([this] { return stopped(); });
      } catch (const std::exception& error) {
        if (std::exchange(problem_, error.what()) != error.what()) options_.send.say(problem_);
        next = Clock::now() + kPollSpool;
      }
    }
    std::unique_lock lock(mutex_);
    if (finishing_ && pending_.empty() && (!next || *next >= deadline_)) break;
    const Clock::time_point look = Clock::now() + kPollSpool;
    changed_.wait_until(lock, std::min(next.value_or(look), std::min(look, deadline_)),
                        [this] { return woken_; });
  }
  spool_.disown();
}

}  // namespace sampan::push
