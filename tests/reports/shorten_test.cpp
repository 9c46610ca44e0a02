#include "reports/shorten.h"

#include <gtest/gtest.h>

#include "reports/text.h"

namespace sampan::reports {
namespace {

struct Case {
  const char* name;
  size_t width;
  const char* expected;
};

TEST(Shorten, CutsWhatTellsLeastFirst) {
  const Case cases[] = {
      {"main", 4, "main"},
      {"std::vector<int, std::allocator<int> >::push_back(int const&)", 80,
       "std::vector<int, std::allocator<int> >::push_back(int const&)"},
      {"std::vector<int, std::allocator<int> >::push_back(int const&)", 55,
       "std::vector<int, std::allocator<int> >::push_back(…)"},
      {"std::vector<int, std::allocator<int> >::push_back(int const&)", 30,
       "std::vector<…>::push_back(…)"},
      {"std::vector<int, std::allocator<int> >::push_back(int const&)", 25,
       "std::vector<…>::push_back"},
      {"std::vector<int, std::allocator<int> >::push_back(int const&)", 24,
       "…vector<…>::push_back"},
      {"std::vector<int, std::allocator<int> >::push_back(int const&)", 12, "…push_back"},
      {"std::vector<int, std::allocator<int> >::push_back(int const&)", 6, "…push…"},
      // const, & and [clone …] go with the parameters.
      {"Foo::bar(int) const [clone .isra.0]", 20, "Foo::bar(…)"},
      // The return type of a function template.
      {"unsigned long sum<int>(int const*, unsigned long)", 20, "sum<int>(…)"},
      {"std::enable_if<true, int>::type run<int>(int)", 14, "run<int>(…)"},
      // A bracket inside the name is not its parameters.
      {"(anonymous namespace)::work(int, int)", 30, "(anonymous namespace)::work(…)"},
      {"outer(int)::{lambda(int)#1}::operator()(int) const", 44,
       "outer(int)::{lambda(int)#1}::operator()(…)"},
      {"work()", 5, "work"},
      // Rust.
      {"<alloc::vec::Vec<u8> as core::fmt::Write>::write_str", 20, "…write_str"},
      {"core::ptr::drop_in_place<alloc::vec::Vec<u8>>", 30, "core::ptr::drop_in_place<…>"},
      // V8's, with a place behind them.
      {"JS:*sort /srv/node/list.js:7:12", 12, "JS:*sort"},
      {"JS:~compileFunction node:internal/modules/cjs/loader:1:25", 20, "JS:~compileFunction"},
      // Without a symbol, the offset is what tells.
      {"[libcrypto.so.3+0x123456]", 16, "[libc…+0x123456]"},
      {"[libcrypto.so.3+0x123456]", 10, "[libcrypt…"},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(shorten(each.name, each.width), each.expected) << each.name << " in " << each.width;
  }
}

TEST(Shorten, OperatorsAreNotBrackets) {
  const Case cases[] = {
      {"bool operator< <int>(Foo<int> const&, Foo<int> const&)", 20, "operator< <int>(…)"},
      {"std::ostream& operator<<(std::ostream&, Foo const&)", 20, "operator<<(…)"},
      {"Foo<int, long>::operator->() const", 20, "Foo<…>::operator->()"},
      {"Foo<int, long, char>::operator()(int, long, char) const", 23, "Foo<…>::operator()(…)"},
      {"Foo<int>::operator unsigned long() const", 28, "…operator unsigned long"},
      {"operator new(unsigned long)", 16, "operator new(…)"},
      {"x::operator<=>(Foo<a> const&, int)", 20, "x::operator<=>(…)"},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(shorten(each.name, each.width), each.expected) << each.name << " in " << each.width;
  }
}

TEST(Shorten, FitsWhateverTheName) {
  for (const char* name :
       {"((((((((((((", ">>>>>>>>>>>>>>>", "a<b<c<d<e<f<g(h(i", "operator<operator<operator<<",
        "::::::::::::::::", "<<<<<>>>>>::a(b)c", "a)))))))(b", "[+0x]", "[a+0x1",
        "[abcdefghijklm+0x123456789]", "(…)(…)(…)(…)", "üüüüüüüüüüüü<ü>(ü)"}) {
    for (size_t width = 1; width < 20; ++width) {
      EXPECT_LE(columns(shorten(name, width)), width) << name << " in " << width;
    }
  }
}

}  // namespace
}  // namespace sampan::reports
