#include "symbolizer/demangle.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace sampan::symbolizer {
namespace {

TEST(Demangle, GivesCppNamesWithTemplateArgumentsAndParameters) {
  EXPECT_EQ(demangle("_ZN6target12inlined_callEv"), "target::inlined_call()");
  EXPECT_EQ(demangle("_ZNSt6vectorIiSaIiEE9push_backERKi"),
            "std::vector<int, std::allocator<int> >::push_back(int const&)");
  EXPECT_EQ(demangle("_ZN12_GLOBAL__N_16middleERN6target4CallE"),
            "(anonymous namespace)::middle(target::Call&)");
}

TEST(Demangle, GivesRustNamesWithoutTheirHash) {
  // Legacy and v0 (rust-lang/rfcs 2603).
  EXPECT_EQ(demangle("_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE"),
            "core::fmt::Formatter::write_str");
  EXPECT_EQ(demangle("_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
                     "3bar17h0123456789abcdefE"),
            "<Test + 'static as foo::Bar<Test>>::bar");
  EXPECT_EQ(demangle("_RNvCs1234_7mycrate3foo"), "mycrate::foo");
  EXPECT_EQ(demangle("_RINvNtC3std3mem8align_ofjE"), "std::mem::align_of::<usize>");
}

// As written by gdc-12.
TEST(Demangle, GivesDNames) {
  EXPECT_EQ(demangle("_Dmain"), "D main");
  EXPECT_EQ(demangle("_D6shapes6circle5outerFiZi"), "shapes.circle.outer(int)");
  EXPECT_EQ(demangle("_D6shapes6circle5outerFiZ5innerMFNaNbNiNfiZi"),
            "shapes.circle.outer(int).inner(int)");
  EXPECT_EQ(demangle("_D6shapes6circle__T6CircleTdZQk4areaMFNaNbNiNfiZd"),
            "shapes.circle.Circle!(double).Circle.area(int)");
  EXPECT_EQ(demangle("_D6shapes6circle1C6__dtorMFZv"), "shapes.circle.C.~this()");
}

TEST(WithoutCloneSuffix, NamesTheFunctionOfPartsAndClones) {
  for (const char* symbol : {"f.cold", "f.cold.12", "f.part.0", "f.isra.0", "f.constprop.3",
                             "f.llvm.16024377216014", "f.part.0.isra.0.cold", "f.__part.27", "f.eh",
                             "f.lto_priv.0", "f.localalias", "f.localalias.4", "f"}) {
    EXPECT_EQ(without_clone_suffix(symbol), "f") << symbol;
  }
}

TEST(WithoutCloneSuffix, KeepsOtherFunctions) {
  for (const char* symbol :
       {"f._omp_fn.0", "f.avx2", "f.resolver", ".cold", "f.12", "cold", "part.1", "f.colder",
        "scold", "", "main.func1", ".", "1", "f.isra.x"}) {
    EXPECT_EQ(without_clone_suffix(symbol), symbol);
  }
}

TEST(Demangle, ReturnsUnknownNamesUnchanged) {
  for (const char* name : {"main", "_start", "__libc_start_main", "_Z", "_ZN", "_R", "_", ""}) {
    EXPECT_EQ(demangle(name), name);
  }
}

// libiberty alone gives up at 1024 characters; boost and Eigen have longer names.
TEST(Demangle, ReadsLongNames) {
  std::string mangled = "_Z1f", demangled = "f(";
  for (int i = 0; i < 150; ++i) {
    const std::string type = "Parameter" + std::to_string(100 + i);
    mangled += std::to_string(type.size()) + type;
    demangled += (i != 0 ? ", " : "") + type;
  }
  ASSERT_GT(mangled.size(), 2000u);
  EXPECT_EQ(demangle(mangled.c_str()), demangled + ")");
}

TEST(Demangle, SurvivesDeepNesting) {
  const std::string deep = "_Z1f" + std::string(1'000'000, 'P') + "i";
  EXPECT_EQ(demangle(deep.c_str()), deep);
  demangle(("_Z1f" + std::string(8000, 'P') + "i").c_str());
  demangle(("_R" + std::string(8000, 'R')).c_str());
  demangle(("_D1f" + std::string(8000, 'A')).c_str());
  demangle(("_D1fF" + std::string(1000, 'A')).c_str());
}

// Each parameter contains the previous one twice: the last has 2^30 characters.
TEST(Demangle, SurvivesExponentialNames) {
  std::string cpp = "_Z1fSt4pairIiiE", d = "_D1fFB2ii";
  for (int i = 0; i < 30; ++i) {
    const char before = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i];
    cpp += fmt::format("S_IS{0}_S{0}_E", before);
    d += i == 0 ? "B2QgQi" : "B2QiQk";
  }
  EXPECT_EQ(demangle(cpp.c_str()), cpp);
  EXPECT_EQ(demangle((d + "Zi").c_str()), d + "Zi");
}

}  // namespace
}  // namespace sampan::symbolizer
