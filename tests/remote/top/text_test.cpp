#include "remote/top/text.h"

#include <gtest/gtest.h>
#include <locale.h>

namespace sampan::top {
namespace {

class Text : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(setlocale(LC_CTYPE, "C.UTF-8"), nullptr); }
};

TEST_F(Text, IsMadeHarmless) {
  EXPECT_EQ(harmless("plain Grün 漢字"), "plain Grün 漢字");
  EXPECT_EQ(harmless("a\033[2Jb\nc\td\x7f"), "a?[2Jb?c?d?");
  EXPECT_EQ(harmless("\xc2\x9b"), "?");                   // CSI as a single character
  EXPECT_EQ(harmless("x\xe2\x80\xaey\xcc\x81"), "x?y?");  // right to left; an accent alone
  EXPECT_EQ(harmless("a\xff"), "a\xef\xbf\xbd");
}

TEST_F(Text, WithoutUtf8IsAscii) {
  ASSERT_NE(setlocale(LC_CTYPE, "C"), nullptr);
  EXPECT_EQ(harmless("Grün…"), "Gr?n~");
  EXPECT_EQ(fit("abcdef", 4), "abc~");
}

TEST_F(Text, FitsIntoCells) {
  EXPECT_EQ(fit("abc", 5), "abc  ");
  EXPECT_EQ(fit("abcdef", 4), "abc…");
  EXPECT_EQ(fit("abcdef", 0), "");
  EXPECT_EQ(fit_right("abc", 5), "  abc");
  EXPECT_EQ(cells("漢字"), 4u);
  EXPECT_EQ(fit("漢字漢字", 4), "漢… ");  // a character of two cells is not split
  EXPECT_EQ(cells(fit("漢字漢字", 5)), 5u);
  EXPECT_EQ(last_cells("ab漢字", 3), "字");
}

TEST_F(Text, CutsTheLeastDistinctivePartOfNames) {
  EXPECT_EQ(fit_name("std::vector<int>::push_back(int const&)", 26), "std::vector::push_back");
  EXPECT_EQ(fit_name("std::vector<int>::push_back(int const&)", 18), "…vector::push_back");
  for (size_t width = 0; width < 12; ++width) {
    EXPECT_LE(cells(fit_name("漢字<漢字, 漢字>::字(漢)", width)), width);
  }
}

}  // namespace
}  // namespace sampan::top
