// The only exception of the hosted folders: a sentence for the user that names the file or process
// and, if possible, what to do. The command catches it.
//
// Hosted only: the freestanding folders neither throw nor include this.
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <utility>

namespace sampan {

class Error : public std::runtime_error {
 public:
  template <typename... Args>
  explicit Error(fmt::format_string<Args...> format, Args&&... args)
      : std::runtime_error(fmt::format(format, std::forward<Args>(args)...)) {}
};

}  // namespace sampan
