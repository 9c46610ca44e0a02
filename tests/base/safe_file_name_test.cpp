#include "base/safe_file_name.h"

#include <gtest/gtest.h>

#include <set>

namespace sampan {
namespace {

TEST(SafeFileName, LeavesWhatIsSafe) {
  for (const char* name : {"infer_0b1f-4c", "queue.depth", "a@b=c+d", "A", "x.", "a..b"}) {
    EXPECT_EQ(safe_file_name(name), name);
  }
}

TEST(SafeFileName, NamesNothingOutsideItsDirectory) {
  EXPECT_EQ(safe_file_name("../../etc"), "%2E.%2F..%2Fetc");
  EXPECT_EQ(safe_file_name(".."), "%2E.");
  EXPECT_EQ(safe_file_name("."), "%2E");
  EXPECT_EQ(safe_file_name("-rf"), "%2Drf");
  EXPECT_EQ(safe_file_name("GET /a?b\n"), "GET%20%2Fa%3Fb%0A");
  EXPECT_EQ(safe_file_name(std::string_view("a\0\xff", 3)), "a%00%FF");
  EXPECT_EQ(safe_file_name(""), "%empty");
}

TEST(SafeFileName, DiffersWhereTheTextDiffers) {
  std::set<std::string> names;
  std::set<std::string> texts = {"",    "a",   "a b", "a_b",  "a/b", "a%2Fb",  "a%2fb",
                                 "%2D", "-",   ".",   "%2E",  "%",   "%empty", "%%",
                                 "A",   "a\n", "a;b", "%25-", "%-"};
  for (const size_t size : {115u, 118u, 119u, 120u, 121u, 200u, 10'000u}) {
    for (const char last : {'x', '/', ' '}) {
      texts.insert(std::string(size, 'y') + last);
      texts.insert(std::string(size, ' ') + last);
      texts.insert(safe_file_name(std::string(size, '/') + last));
    }
  }
  for (const std::string& text : texts) {
    const std::string name = safe_file_name(text);
    EXPECT_TRUE(names.insert(name).second) << text;
    EXPECT_LE(name.size(), kLongestSafeName) << text;
    EXPECT_EQ(name.find_first_of("/\n"), name.npos);
    EXPECT_NE(name[0], '.');
  }
}

}  // namespace
}  // namespace sampan
