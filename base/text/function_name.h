// The short form of a function's name, for tables: what encloses it and what it is called, without
// template arguments, parameters and return type. Exports have the full one.
//
//   std::vector<int, std::allocator<int> >::push_back(int const&)   std::vector::push_back
//   bool operator< <int>(Foo<int> const&, Foo<int> const&)          operator<
//   run(int)::{lambda(int)#1}::operator()(int) const                run::{lambda#1}::operator()
//   core::ptr::drop_in_place::<alloc::vec::Vec<u8>>                 core::ptr::drop_in_place
//   <alloc::vec::Vec<u8> as core::fmt::Write>::write_str
//                                       <alloc::vec::Vec as core::fmt::Write>::write_str
#pragma once

#include <string>
#include <string_view>

namespace sampan::reports {

// `name` is demangled. What is no such name is returned as it is: "[libc.so.6+0x1234]", and what
// Python and V8 call the code that they make.
std::string short_name(std::string_view name);

}  // namespace sampan::reports
