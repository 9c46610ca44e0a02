// The name of a function as written in its source: C++ (Itanium ABI) with template arguments and
// parameters, Rust (legacy and v0) without the hash, D. Anything else is returned unchanged.
#pragma once

#include <string>
#include <string_view>

namespace sampan::symbolizer {

std::string demangle(const char* mangled);

// A symbol without the suffixes that gcc and clang append when they split or clone a function:
// "parse.isra.0.cold" is part of "parse", and "parse.llvm.1234" is "parse". Another function
// ("parse._omp_fn.0", the body of a loop) or another version ("parse.avx2") keeps its name.
std::string_view without_clone_suffix(std::string_view symbol);

}  // namespace sampan::symbolizer
