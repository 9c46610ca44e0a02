#include "symbolizer/debug_server.h"

#include <elfutils/debuginfod.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/late_library.h"

namespace sampan::symbolizer {

namespace {

using Clock = std::chrono::steady_clock;

std::chrono::seconds seconds_of(const char* variable, std::chrono::seconds usual) {
  const char* text = std::getenv(variable);
  const long value = text != nullptr ? std::strtol(text, nullptr, 10) : 0;
  return value > 0 ? std::chrono::seconds(value) : usual;
}

double in_seconds(Clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

// State of the request in progress.
struct Wait {
  Clock::time_point deadline;  // of all requests together
  Clock::duration timeout;
  Clock::time_point last_news = Clock::now();
  long bytes = 0;
  bool was_stopped = false;
};

// debuginfod calls this about once a second. Until it knows the size of a file, `bytes` counts its
// calls instead.
bool is_over(Wait& wait, long bytes, long size) {
  const Clock::time_point now = Clock::now();
  if (size > 0 && bytes > wait.bytes) {
    wait.last_news = now;
    wait.bytes = bytes;
  }
  wait.was_stopped = now > wait.deadline || now > wait.last_news + wait.timeout;
  return wait.was_stopped;
}

}  // namespace

struct DebugServer::Library {
  Library() {
    if (client == nullptr) throw Error("libdebuginfod cannot be used");
  }
  ~Library() {
    if (client != nullptr) end(client);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  LateLibrary library{"libdebuginfod.so.1", "libdebuginfod1", "elfutils-debuginfod-client"};
  decltype(debuginfod_begin)* begin = library["debuginfod_begin"];
  decltype(debuginfod_end)* end = library["debuginfod_end"];
  decltype(debuginfod_find_debuginfo)* find = library["debuginfod_find_debuginfo"];
  decltype(debuginfod_set_progressfn)* set_progress = library["debuginfod_set_progressfn"];
  decltype(debuginfod_set_user_data)* set_data = library["debuginfod_set_user_data"];
  decltype(debuginfod_get_user_data)* get_data = library["debuginfod_get_user_data"];
  debuginfod_client* client = begin();
};

std::shared_ptr<DebugServer> DebugServer::of_environment() {
  const char* urls = std::getenv("DEBUGINFOD_URLS");
  if (urls == nullptr || *urls == '\0') return nullptr;
  return std::shared_ptr<DebugServer>(new DebugServer);
}

DebugServer::DebugServer()
    : timeout_(seconds_of("DEBUGINFOD_TIMEOUT", kTimeout)),
      left_(seconds_of("DEBUGINFOD_MAXTIME", kMaxTime)) {}

DebugServer::~DebugServer() = default;

std::optional<std::string> DebugServer::find(std::span<const uint8_t> build_id) {
  const std::scoped_lock lock(mutex_);
  if (build_id.empty()) return std::nullopt;
  if (!error_.empty()) {
    ++unanswered_;
    return std::nullopt;
  }
  try {
    if (library_ == nullptr) library_ = std::make_unique<Library>();
  } catch (const Error& error) {
    error_ = error.what();
    ++unanswered_;
    return std::nullopt;
  }
  const Clock::time_point begun = Clock::now();
  Wait wait{.deadline = begun + left_, .timeout = timeout_};
  library_->set_data(library_->client, &wait);
  static const auto get_data = library_->get_data;
  library_->set_progress(library_->client, [](debuginfod_client* client, long done, long size) {
    return static_cast<int>(is_over(*static_cast<Wait*>(get_data(client)), done, size));
  });
  char* path = nullptr;
  const int result =
      library_->find(library_->client, build_id.data(), static_cast<int>(build_id.size()), &path);
  const std::unique_ptr<char, void (*)(void*)> owned(path, std::free);
  const Clock::duration taken = Clock::now() - begun;
  left_ -= std::min(left_, taken);
  if (result >= 0) {
    close(result);
    return path;
  }
  if (result == -ENOENT && !wait.was_stopped) return std::nullopt;
  ++unanswered_;
  if (left_ == Clock::duration::zero()) {
    error_ = "all the time that it may take is used";
  } else if (taken >= timeout_) {
    error_ = fmt::format("it did not answer within {:.0f} s", in_seconds(taken));
  } else {
    error_ = strerror(-result);
  }
  return std::nullopt;
}

std::string DebugServer::problem() const {
  const std::scoped_lock lock(mutex_);
  if (error_.empty()) return "";
  const char* urls = std::getenv("DEBUGINFOD_URLS");
  return fmt::format("debuginfod at {}: {}; {} debug files were asked for in vain or not at all",
                     urls != nullptr ? urls : "", error_, unanswered_);
}

}  // namespace sampan::symbolizer
