#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "reports/report.h"

namespace sampan::reports {
namespace {

constexpr unsigned kWidth = 80;  // of what is no terminal
constexpr unsigned kNarrowest = 60;

bool is_set(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

}  // namespace

PageOptions page_options_for(FILE* stream) {
  PageOptions options;
  options.width = kWidth;
  const int descriptor = fileno(stream);
  if (isatty(descriptor) == 0) return options;
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col != 0) {
    options.width = std::max<unsigned>(size.ws_col, kNarrowest);
  }
  const char* const terminal = std::getenv("TERM");
  const bool dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
  options.colour = !dumb && !is_set("NO_COLOR");  // https://no-color.org
  return options;
}

}  // namespace sampan::reports
