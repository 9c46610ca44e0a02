// The person's browser.
#pragma once

#include <string>

namespace sampan::cli {

// Opens a file or an address in it, where there is a display; it lives on when this program has
// ended. Returns why it could not be started; "" also where there is no display.
std::string open_in_browser(const std::string& address);

}  // namespace sampan::cli
