// Names of threads where a name alone has to tell them apart, and where it becomes a file's.
#pragma once

#include <string>
#include <vector>

#include "profile/view.h"

namespace sampan::exporters {

// By position in view.threads: the thread's name, with its tid where several threads of the view
// have the same: "worker (1234)". Valid UTF-8, on one line, never empty.
std::vector<std::string> thread_labels(const profile::View& view);

// `text` with everything but letters, digits and "._+-" replaced by '_', at most 64 bytes.
std::string file_name_part(const std::string& text);

}  // namespace sampan::exporters
