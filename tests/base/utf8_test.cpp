#include "base/utf8.h"

#include <gtest/gtest.h>

namespace sampan {
namespace {

TEST(Utf8, LeavesWellFormedTextAlone) {
  const std::string text = "a\0z \u00e9 \u20ac \U0001f600 \u0080 \u07ff \ud7ff \ue000 \U0010ffff";
  EXPECT_EQ(valid_utf8(text), text);
}

TEST(Utf8, ReplacesEveryByteThatIsNotPartOfACharacter) {
  const std::string bad = "\xef\xbf\xbd";
  EXPECT_EQ(valid_utf8("a\x80z"), "a" + bad + "z");                  // a continuation alone
  EXPECT_EQ(valid_utf8("\xc3"), bad);                                // cut off
  EXPECT_EQ(valid_utf8("\xe2\x82"), bad + bad);                      // cut off
  EXPECT_EQ(valid_utf8("\xc0\xaf"), bad + bad);                      // overlong
  EXPECT_EQ(valid_utf8("\xe0\x9f\xbf"), bad + bad + bad);            // overlong
  EXPECT_EQ(valid_utf8("\xed\xa0\x80"), bad + bad + bad);            // a surrogate
  EXPECT_EQ(valid_utf8("\xf4\x90\x80\x80"), bad + bad + bad + bad);  // past U+10FFFF
  EXPECT_EQ(valid_utf8("\xc3(\xff"), bad + "(" + bad);
}

}  // namespace
}  // namespace sampan
