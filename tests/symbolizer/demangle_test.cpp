#include "symbolizer/demangle.h"

#include <gtest/gtest.h>

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
  // Legacy, and v0 (rust-lang/rfcs 2603).
  EXPECT_EQ(demangle("_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE"),
            "core::fmt::Formatter::write_str");
  EXPECT_EQ(demangle("_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
                     "3bar17h0123456789abcdefE"),
            "<Test + 'static as foo::Bar<Test>>::bar");
  EXPECT_EQ(demangle("_RNvCs1234_7mycrate3foo"), "mycrate::foo");
  EXPECT_EQ(demangle("_RINvNtC3std3mem8align_ofjE"), "std::mem::align_of::<usize>");
}

TEST(Demangle, LeavesWhatItDoesNotKnow) {
  for (const char* name : {"main", "_start", "__libc_start_main", "_Z", "_ZN", "_R", "_", ""}) {
    EXPECT_EQ(demangle(name), name);
  }
}

// libiberty alone gives up at 1024 characters, and boost and Eigen go beyond.
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

TEST(Demangle, SurvivesWhatIsTooDeep) {
  const std::string deep = "_Z1f" + std::string(1'000'000, 'P') + "i";
  EXPECT_EQ(demangle(deep.c_str()), deep);
  demangle(("_Z1f" + std::string(8000, 'P') + "i").c_str());
  demangle(("_R" + std::string(8000, 'R')).c_str());
}

}  // namespace
}  // namespace sampan::symbolizer
