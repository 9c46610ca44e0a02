// The keys of top, as it shows them itself.
#pragma once

#include <string>
#include <vector>

namespace sampan::top {

// No line has more than 78 cells, and all fit on a screen of 24.
const std::vector<std::string>& help_lines();

}  // namespace sampan::top
