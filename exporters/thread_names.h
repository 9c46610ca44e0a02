// Names of threads that must be unique, and names for files.
#pragma once

#include <string>
#include <vector>

#include "profile/view.h"

namespace sampan::exporters {

// By position in view.threads: the thread's name, with its tid if several threads of the view have
// the same name: "worker (1234)". Valid UTF-8, on one line, never empty.
std::vector<std::string> thread_labels(const profile::View& view);

// `text` with everything but letters, digits and "._+-" replaced by '_', at most 64 bytes.
std::string file_name_part(const std::string& text);

}  // namespace sampan::exporters
