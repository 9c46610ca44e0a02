// Which package of the distribution has the debug information of a file: Debian's, as dpkg and apt
// know them. Elsewhere none is known.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace sampan::cli {

// By path, of the files that a package has brought: "libc6-dbg", or "liblzma5-dbgsym", which is in
// the archive of debug symbols. Asks dpkg-query and apt-cache, once for all.
std::map<std::string, std::string> debug_packages(const std::vector<std::string>& paths);

}  // namespace sampan::cli
