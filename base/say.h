// What sampan says to people, on stderr. A message must not cost what it is about: nothing is thrown and no
// signal ends the process when stderr is closed, full, or a pipe without a reader.
//
// Hosted only.
#pragma once

#include <fmt/core.h>

#include <string_view>
#include <utility>

namespace sampan {

// Writes all of it, or what stderr takes.
void say_text(std::string_view text) noexcept;

template <typename... Args>
void say(fmt::format_string<Args...> format, Args&&... args) noexcept {
  try {
    say_text(fmt::format(format, std::forward<Args>(args)...));
  } catch (...) {
    // Out of memory: the message is lost, what it is about goes on.
  }
}

}  // namespace sampan
