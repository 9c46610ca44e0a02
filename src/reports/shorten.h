// Long C++ and Rust names made to fit a table. Only as much is cut as has to be, what tells least
// first: parameters and what follows them, the return type, template arguments, leading namespaces,
// then the end.
//
//   std::vector<int, std::allocator<int> >::push_back(int const&)
//   std::vector<int, std::allocator<int> >::push_back(…)
//   std::vector<…>::push_back(…)
//   …vector<…>::push_back
//
//   [libcrypto.so.3+0x123456]
//   [libc…+0x123456]
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sampan::reports {

// `name` is printable (text.h). The result takes at most `width` columns.
std::string shorten(std::string_view name, size_t width);

}  // namespace sampan::reports
