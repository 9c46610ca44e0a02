// The name of a function as its programmer wrote it: C++ (Itanium ABI) with template arguments and
// parameters, Rust (legacy and v0) without the hash, D. Anything else is returned as it is.
#pragma once

#include <string>
#include <string_view>

namespace sampan::symbolizer {

std::string demangle(const char* mangled);

// A symbol without what gcc and clang append when they split a function or make copies of it:
// "parse.isra.0.cold" is a part of "parse", and so is "parse.llvm.1234". What is another function
// ("parse._omp_fn.0", the body of a loop) or another version ("parse.avx2") keeps its name.
std::string_view without_clone_suffix(std::string_view symbol);

}  // namespace sampan::symbolizer
