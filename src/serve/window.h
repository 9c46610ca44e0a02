// Which time a request is about: `seconds=N` from now on, `last=N` up to now, or all there is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "http/message.h"
#include "serve/source.h"

namespace sampan::serve {

struct Window {
  uint64_t from_ns = 0;
  uint64_t to_ns = UINT64_MAX;
  uint64_t wait_ns = 0;  // until it is over
  // What was asked for, the same for all who ask the same.
  std::string key = {};
};

// What an endpoint is about when the request does not say.
struct UsualWindow {
  double seconds = 0;  // of a process; 0: no waiting
  double last = 0;     // the same; 0: all there is
};

inline constexpr double kMostSeconds = 3600;

// Throws Error with a sentence for who asked.
Window window_of(const http::Request& request, Source& source, const UsualWindow& usual);

}  // namespace sampan::serve
