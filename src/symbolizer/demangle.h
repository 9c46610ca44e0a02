// The name of a function as its programmer wrote it: C++ (Itanium ABI) with template arguments and
// parameters, Rust (legacy and v0) without the hash. Anything else is returned as it is.
#pragma once

#include <string>

namespace sampan::symbolizer {

std::string demangle(const char* mangled);

}  // namespace sampan::symbolizer
