// What is served: a process while it is captured, or a recording.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "recording/reader.h"

namespace sampan::serve {

// Of CPU, in seconds.
struct Cost {
  double recorder = 0;
  double target = 0;  // since it is captured, as the kernel accounted it
};

// Members may be called from any thread.
class Source {
 public:
  virtual ~Source() = default;

  // From `from_ns` to `to_ns`, whole by itself, with all that has happened up to now. Throws Error.
  virtual recording::Recording read(uint64_t from_ns, uint64_t to_ns) = 0;
  // The latest time that something may have.
  virtual uint64_t now_ns() = 0;
  // It goes on, so one can wait for more.
  virtual bool is_live() const = 0;
  // Zeros where it is not known.
  virtual Cost cost() { return {}; }
};

}  // namespace sampan::serve
