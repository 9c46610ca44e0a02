// The names of functions, short enough for tables. Exports have the full names. Hosted only.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sampan {

// The scope and the name of a function, without template arguments, parameters and return type:
//
//   std::vector<int, std::allocator<int> >::push_back(int const&)   std::vector::push_back
//   bool operator< <int>(Foo<int> const&, Foo<int> const&)          operator<
//   run(int)::{lambda(int)#1}::operator()(int) const                run::{lambda#1}::operator()
//   core::ptr::drop_in_place::<alloc::vec::Vec<u8>>                 core::ptr::drop_in_place
//   <alloc::vec::Vec<u8> as core::fmt::Write>::write_str
//                                       <alloc::vec::Vec as core::fmt::Write>::write_str
//
// `name` is demangled. Other names are returned unchanged: "[libc.so.6+0x1234]", and the names that
// Python and V8 give to generated code.
std::string short_name(std::string_view name);

// A name that fits into a table. It cuts only as much as necessary, the least informative parts
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
//
// `name` is printable (readable.h). The result takes at most `width` columns.
std::string shorten(std::string_view name, size_t width);

}  // namespace sampan
