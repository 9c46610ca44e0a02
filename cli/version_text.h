// What `sampan --version` prints.
#pragma once

#include <string>

namespace sampan::cli {

// "sampan 0.1.0 (commit 2e8ae7670b1c)" and a line of features. Without a commit if it is not known.
std::string version_text();

}  // namespace sampan::cli
