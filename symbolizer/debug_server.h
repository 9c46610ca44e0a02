// Debug files of servers, by build-id: debuginfod, asked only where DEBUGINFOD_URLS names one, by
// the library of elfutils, which is loaded then and keeps what it was given in its own cache.
//
// A server that cannot be reached or says nothing for kPatience is not asked again, and all that is
// asked takes at most kMostTime: so a server costs no more than that, once, however many modules
// there are. Any number of threads may ask; they are served one by one.
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
  // debuginfod's own variables for the same count instead where they are set: DEBUGINFOD_TIMEOUT
  // and DEBUGINFOD_MAXTIME, in seconds.
  static constexpr std::chrono::seconds kPatience{5};
  static constexpr std::chrono::seconds kMostTime{60};

  // Null where DEBUGINFOD_URLS names no server.
  static std::shared_ptr<DebugServer> of_environment();
  ~DebugServer();
  DebugServer(const DebugServer&) = delete;
  DebugServer& operator=(const DebugServer&) = delete;

  // The path of the separate debug file; none where the server has none, or is not asked any more.
  std::optional<std::string> find(std::span<const uint8_t> build_id);
  // What went wrong and for how many files, a sentence; "" when all were answered.
  std::string problem() const;

 private:
  struct Library;
  DebugServer();

  mutable std::mutex mutex_;
  std::unique_ptr<Library> library_;
  std::string trouble_;  // why it is not asked any more
  size_t in_vain_ = 0;   // files that were asked for in vain, or not at all
  std::chrono::steady_clock::duration patience_, left_;
};

}  // namespace sampan::symbolizer
