// The terminal: full screen during the lifetime of this object, and restored afterwards, also if
// sampan crashes.
#pragma once

#include <cstdint>
#include <optional>

#include "remote/top/render.h"

namespace sampan::top {

class Terminal {
 public:
  // Throws Error if stdin and stdout are not a terminal, or it cannot move its cursor. Only one
  // object may exist at a time.
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  Size size() const;
  void draw(const Picture& picture);
  // The next key (screen.h); 0 if the terminal was resized; none if no key was pressed.
  std::optional<uint32_t> key();
  // The other end of the terminal was closed.
  bool hung_up() const { return hung_up_; }

 private:
  void* screen_;
  bool colours_;
  bool hung_up_ = false;
};

}  // namespace sampan::top
