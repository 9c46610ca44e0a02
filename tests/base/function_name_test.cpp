#include "base/text/function_name.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/text/readable.h"

namespace sampan {
namespace {

struct Case {
  const char* name;
  const char* expected;
};

void expect(const std::vector<Case>& cases) {
  for (const Case& each : cases) EXPECT_EQ(short_name(each.name), each.expected) << each.name;
}

TEST(ShortName, HasNoArgumentsAndParameters) {
  expect({
      {"main", "main"},
      {"work()", "work"},
      {"std::vector<int, std::allocator<int> >::push_back(int const&)", "std::vector::push_back"},
      {"Foo::bar(int) const", "Foo::bar"},
      {"Foo::bar(int) volatile &&", "Foo::bar"},
      {"Foo::bar(int) const [clone .isra.0] [clone .cold]", "Foo::bar"},
      {"Foo::name[abi:cxx11](int) const", "Foo::name"},
      {"std::map<std::string, int>::operator[](std::string&&)", "std::map::operator[]"},
      {"f(int (*)(char), int const (&)[3])", "f"},
      {"Wrap<&(f(int)), (Kind)1>::get()", "Wrap::get"},
      {"f<((sizeof (int))>(4))>(std::array<int, (4)>>(1)>)", "f"},
      {"Foo::~Foo()", "Foo::~Foo"},
      {"memcpy@plt", "memcpy@plt"},
      {"f(int)@plt", "f@plt"},
      {"do_work.isra.0", "do_work.isra.0"},
  });
}

TEST(ShortName, HasNoReturnType) {
  expect({
      {"unsigned long sum<int>(int const*, unsigned long)", "sum"},
      {"std::enable_if<true, int>::type run<int>(int)", "run"},
      {"void (anonymous namespace)::run<int>(int)", "(anonymous namespace)::run"},
      {"decltype(auto) visit<int>(int)", "visit"},
      {"decltype (({parm#1}.size)()) size<Foo>(Foo&)", "size"},
      {"void (*find<int>(int))(char)", "find"},
      {"int (&ns::table<int>())[3]", "ns::table"},
      // Java's, of perf-map-agent.
      {"java.lang.Object java.util.HashMap.get(java.lang.Object)", "java.util.HashMap.get"},
  });
}

TEST(ShortName, KeepsOperatorsWhole) {
  expect({
      {"bool operator< <int>(Foo<int> const&, Foo<int> const&)", "operator<"},
      {"bool operator<< <int>(Foo<int> const&, int)", "operator<<"},
      {"std::ostream& operator<<(std::ostream&, Foo const&)", "operator<<"},
      {"Foo<int>::operator->() const", "Foo::operator->"},
      {"Foo<int>::operator()(int) const", "Foo::operator()"},
      {"Foo<int>::operator()<char>(char)", "Foo::operator()"},
      {"auto operator<=><int>(Foo<int>, int)", "operator<=>"},
      {"Foo operator+<int>(Foo, int)", "operator+"},
      {"Foo::operator+=(int)", "Foo::operator+="},
      {"Foo::operator,(int)", "Foo::operator,"},
      {"operator new[](unsigned long)", "operator new[]"},
      {"Foo::operator delete(void*)", "Foo::operator delete"},
      {"Foo<int>::operator unsigned long() const", "Foo::operator unsigned long"},
      {"Foo<int>::operator std::vector<int>() const", "Foo::operator std::vector"},
      {"operator\"\" _kg(long double)", "operator\"\" _kg"},
      {"call<(Foo<int>::operator<)>(int)", "call"},
      {"operators::run(int)", "operators::run"},
  });
}

TEST(ShortName, SaysWhatAFunctionIsIn) {
  expect({
      {"(anonymous namespace)::work(int, int)", "(anonymous namespace)::work"},
      {"ns::(anonymous namespace)::Foo<int>::work()", "ns::(anonymous namespace)::Foo::work"},
      {"outer(int)::{lambda(int)#1}::operator()(int) const", "outer::{lambda#1}::operator()"},
      {"Foo::run(int) const::{lambda(auto:1)#2}::operator()<int>(int) const",
       "Foo::run::{lambda#2}::operator()"},
      {"run<int>(int)::{lambda<typename $T0>($T0)#1}::operator()(int)",
       "run::{lambda#1}::operator()"},
      {"main::{unnamed type#1}::go()", "main::{unnamed type#1}::go"},
      {"non-virtual thunk to Foo<int>::bar(int)", "non-virtual thunk to Foo::bar"},
      {"vtable for Foo<int>", "vtable for Foo"},
  });
}

TEST(ShortName, OfOtherLanguages) {
  expect({
      // Rust, legacy and v0.
      {"core::fmt::Formatter::write_str", "core::fmt::Formatter::write_str"},
      {"core::ptr::drop_in_place<alloc::vec::Vec<u8>>", "core::ptr::drop_in_place"},
      {"core::mem::align_of::<usize>", "core::mem::align_of"},
      {"core::ptr::drop_in_place::<<T as Trait<u8>>::Out>", "core::ptr::drop_in_place"},
      {"<alloc::vec::Vec<u8> as core::fmt::Write>::write_str",
       "<alloc::vec::Vec as core::fmt::Write>::write_str"},
      {"<alloc::vec::Vec<u8>>::push", "alloc::vec::Vec::push"},
      {"<[u8]>::sort_by::<main::{closure#0}>", "<[u8]>::sort_by"},
      {"<fn(u8) -> u8 as core::ops::FnOnce<(u8,)>>::call_once",
       "<fn(u8) -> u8 as core::ops::FnOnce>::call_once"},
      {"core::slice::<impl [T]>::iter", "core::slice::<impl [T]>::iter"},
      {"alloc::<impl From<Vec<u8>> for Rc<[u8]>>::from", "alloc::<impl From for Rc>::from"},
      {"app::run::{{closure}}", "app::run::{{closure}}"},
      {"app::run::<u8>::{closure#0}::{closure#1}", "app::run::{closure#0}::{closure#1}"},
      // Go.
      {"main.(*Tree).Insert.func1", "main.(*Tree).Insert.func1"},
      {"main.(*List[go.shape.int_0]).Push", "main.(*List).Push"},
      {"main.Map[...]", "main.Map"},
      // D.
      {"std.stdio.writeln!(string).writeln(string)", "std.stdio.writeln.writeln"},
      // Python.
      {"<module>", "<module>"},
      {"Service.run.<locals>.<lambda>", "Service.run.<locals>.<lambda>"},
      {"main.<locals>.<genexpr>", "main.<locals>.<genexpr>"},
      // Names of code that was made at run time, and of none.
      {"JS:*sort /srv/node/list.js:7:12", "JS:*sort /srv/node/list.js:7:12"},
      {"LazyCompile:*<anonymous> /srv/a.js:1", "LazyCompile:*<anonymous> /srv/a.js:1"},
      {"py::<module>:/srv/a.py", "py::<module>:/srv/a.py"},
      {"[libcrypto.so.3+0x123456]", "[libcrypto.so.3+0x123456]"},
      {"[read pipe:[4711]]", "[read pipe:[4711]]"},
  });
}

TEST(ShortName, LeavesWhatItDoesNotUnderstand) {
  expect({
      {"", ""},
      {"f(int", "f(int"},
      {"f<int", "f<int"},
      {"f)", "f)"},
      {"f(int) what is this", "f(int) what is this"},
      {"operator", "operator"},
      {"((((", "(((("},
  });
  const std::string deep = std::string(100'000, '<') + "f";
  EXPECT_EQ(short_name(deep), deep);
  const std::string closed = "f" + std::string(10'000, '<') + std::string(10'000, '>') + "(int)";
  EXPECT_EQ(short_name(closed), "f");
}

// Names as a grammar makes them, with the short form that goes with each.
class Grammar {
 public:
  explicit Grammar(unsigned seed) : random_(seed) {}

  struct Names {
    std::string full, brief;
  };

  Names function() {
    Names names = scopes(3);
    const Names own = member();
    names.full += own.full;
    names.brief += own.brief;
    if (one_of(2) && own.full.find(' ') == own.full.npos) {
      // The name of a function that returns a function or an array is inside the type.
      const std::string returned = type(2);
      const bool is_around = returned.find(" (") != returned.npos || returned[0] == '&';
      names.full = (is_around ? "Foo" : returned) + " " + names.full +
                   (own.full.ends_with('<') ? " " : "") + arguments(3);
    }
    names.full += parameters(3) + pick({"", " const", " const&", " &&", " [clone .cold]"});
    return names;
  }

 private:
  unsigned one_of(unsigned n) { return static_cast<unsigned>(random_() % n); }
  std::string pick(const std::vector<std::string>& words) {
    return words[one_of(static_cast<unsigned>(words.size()))];
  }

  Names scopes(int depth) {
    Names names;
    for (unsigned left = one_of(4); left > 0; --left) {
      const Names one = scope(depth);
      names.full += one.full + "::";
      names.brief += one.brief + "::";
    }
    return names;
  }

  Names scope(int depth) {
    switch (one_of(5)) {
      case 0: return {"(anonymous namespace)", "(anonymous namespace)"};
      case 1: return {"Box" + arguments(depth), "Box"};
      case 2: return {"run" + parameters(depth) + pick({"", " const"}), "run"};
      case 3: return {"{lambda" + parameters(depth) + "#1}", "{lambda#1}"};
      default: return {"ns", "ns"};
    }
  }

  Names member() {
    const std::string name =
        pick({"go", "operator<", "operator<<", "operator->", "operator()", "operator[]",
              "operator>", "operator<=>", "~Box", "operator new[]", "operator unsigned long"});
    return {name, name};
  }

  std::string arguments(int depth) {
    std::string text = "<";
    for (unsigned left = 1 + one_of(3); left > 0; --left) {
      text += type(depth - 1) + (left > 1 ? ", " : "");
    }
    return text + (text.back() == '>' ? " >" : ">");
  }

  std::string parameters(int depth) {
    std::string text = "(";
    for (unsigned left = one_of(3); left > 0; --left) {
      text += type(depth - 1) + (left > 1 ? ", " : "");
    }
    return text + ")";
  }

  std::string type(int depth) {
    if (depth <= 0) return pick({"int", "char const*", "unsigned long", "Foo&", "(Kind)1"});
    switch (one_of(7)) {
      case 0: return "std::vector" + arguments(depth);
      case 1: return "void (*)" + parameters(depth);
      case 2: return "std::function<int " + parameters(depth) + ">";
      case 3: return scopes(depth - 1).full + "Inner";
      case 4: return "int (&) [3]";
      case 5: return "decltype (" + type(depth - 1) + "->x)";
      default: return "&(Box" + arguments(depth) + "::operator<)";
    }
  }

  std::mt19937 random_;
};

TEST(ShortName, OfRandomNesting) {
  Grammar grammar(7);
  for (int i = 0; i < 20'000; ++i) {
    const Grammar::Names names = grammar.function();
    ASSERT_EQ(short_name(names.full), names.brief) << names.full;
  }
}

TEST(ShortName, OfRandomCharacters) {
  std::mt19937 random(7);
  constexpr std::string_view kParts[] = {"operator", "<", ">", "(", ")", "[", "]", "{",
                                         "}",        "a", ":", " ", "*", "-", "!", "const"};
  for (int i = 0; i < 20'000; ++i) {
    std::string name;
    for (auto left = random() % 30; left > 0; --left) name += kParts[random() % 16];
    EXPECT_LE(short_name(name).size(), name.size()) << name;
  }
}

struct Fitted {
  const char* name;
  size_t width;
  const char* expected;
};

TEST(Shorten, CutsWhatTellsLeastFirst) {
  const Fitted cases[] = {
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
  for (const Fitted& each : cases) {
    EXPECT_EQ(shorten(each.name, each.width), each.expected) << each.name << " in " << each.width;
  }
}

TEST(Shorten, OperatorsAreNotBrackets) {
  const Fitted cases[] = {
      {"bool operator< <int>(Foo<int> const&, Foo<int> const&)", 20, "operator< <int>(…)"},
      {"std::ostream& operator<<(std::ostream&, Foo const&)", 20, "operator<<(…)"},
      {"Foo<int, long>::operator->() const", 20, "Foo<…>::operator->()"},
      {"Foo<int, long, char>::operator()(int, long, char) const", 23, "Foo<…>::operator()(…)"},
      {"Foo<int>::operator unsigned long() const", 28, "…operator unsigned long"},
      {"operator new(unsigned long)", 16, "operator new(…)"},
      {"x::operator<=>(Foo<a> const&, int)", 20, "x::operator<=>(…)"},
  };
  for (const Fitted& each : cases) {
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
}  // namespace sampan
