// Files below another root directory: that of a container, of a chroot, or of a system that is mounted somewhere. Links
// lead where they lead there: an absolute one begins at that root, and ".." does not leave it.
//
// Hosted only.
#pragma once

#include <string>

#include "base/file_descriptor.h"

namespace sampan {

// `root`: a descriptor of the directory. `path`: as a process with that root names the file. `flags`: of open(2). Absent
// when there is no such file, or it may not be opened.
FileDescriptor open_below(int root, const std::string& path, int flags);

// Where we find the file of an open descriptor; "" when it has no path.
std::string path_of(int descriptor);

// The path by which we can open what `path` names below the directory `root`; "" when it is not there.
std::string path_below(const std::string& root, const std::string& path);

}  // namespace sampan
