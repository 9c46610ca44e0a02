// The terminal: full screen while this object lives, and as it was before when it has gone, also
// when sampan crashes meanwhile.
#pragma once

#include <cstdint>
#include <optional>

#include "top/picture.h"
#include "top/render.h"

namespace sampan::top {

class Terminal {
 public:
  // Throws Error where stdin and stdout are no terminal, or one that cannot move its cursor. There
  // may be one at a time.
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  Size size() const;
  void draw(const Picture& picture);
  // The next key that was typed (screen.h), 0 for a new size of the terminal; nothing when there
  // is none yet.
  std::optional<uint32_t> key();
  // Nobody is at the other end any more.
  bool hung_up() const { return hung_up_; }

 private:
  void* screen_;
  bool colours_;
  bool hung_up_ = false;
};

}  // namespace sampan::top
