// Debug files from servers, by build-id: debuginfod. A server is asked only if DEBUGINFOD_URLS
// names one. elfutils' client library is loaded when it is needed, and keeps what it receives in
// its own cache.
//
// A server that cannot be reached, or is silent for kTimeout, is not asked again, and all requests
// together take at most kMaxTime. So a bad server costs that much once, whatever the number of
// modules. Any number of threads may ask; they are served one by one.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

namespace sampan::symbolizer {

class DebugServer {
 public:
  // If debuginfod's own variables are set, they count instead: DEBUGINFOD_TIMEOUT and
  // DEBUGINFOD_MAXTIME, in seconds.
  static constexpr std::chrono::seconds kTimeout{5};
  static constexpr std::chrono::seconds kMaxTime{60};

  // Null if DEBUGINFOD_URLS names no server.
  static std::shared_ptr<DebugServer> of_environment();
  ~DebugServer();
  DebugServer(const DebugServer&) = delete;
  DebugServer& operator=(const DebugServer&) = delete;

  // The path of the separate debug file; none if the server has none, or is no longer asked.
  std::optional<std::string> find(std::span<const uint8_t> build_id);
  // What went wrong, and for how many files, as a sentence; "" if all requests were answered.
  std::string problem() const;

 private:
  struct Library;
  DebugServer();

  mutable std::mutex mutex_;
  std::unique_ptr<Library> library_;
  std::string error_;      // why the server is no longer asked
  size_t unanswered_ = 0;  // files that were requested without an answer, or no longer requested
  std::chrono::steady_clock::duration timeout_, left_;
};

}  // namespace sampan::symbolizer
