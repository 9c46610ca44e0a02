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

  // The shell has not given the terminal to somebody else (kill -STOP, bg): keys are for us, and so is the screen.
  bool is_ours() const;
  // Before the first picture, when nothing will be executed any more that inherits it: the kernel does not stop us for a use
  // of the terminal in the background. We would not see that we are to end.
  void stay_awake();

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
