// Emphasis in a terminal: nothing at all where there is no colour (ECMA-48, SGR).
#pragma once

#include <string>
#include <string_view>

namespace sampan::reports {

// A row of at least this share of the time stands out.
inline constexpr double kStrongShare = 0.1;

class Style {
 public:
  explicit Style(bool colour) : colour_(colour) {}

  std::string heading(std::string_view text) const { return with("1", text); }
  std::string strong(std::string_view text) const { return with("1", text); }
  std::string faint(std::string_view text) const { return with("2", text); }
  std::string warning(std::string_view text) const { return with("33", text); }

 private:
  std::string with(std::string_view code, std::string_view text) const {
    if (!colour_ || text.empty()) return std::string(text);
    return "\033[" + std::string(code) + "m" + std::string(text) + "\033[0m";
  }
  bool colour_;
};

}  // namespace sampan::reports
