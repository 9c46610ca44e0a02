#include "remote/mcp/run_command.h"

#include <gtest/gtest.h>

#include <string>

namespace sampan::mcp {
namespace {

TEST(BoundedText, KeepsBothEndsOfALongText) {
  BoundedText text;
  text.add("begin");
  for (int i = 0; i < 100'000; ++i) text.add("0123456789");
  text.add("end");
  const std::string kept = text.text();
  EXPECT_LT(kept.size(), 25'000u);
  EXPECT_TRUE(kept.starts_with("begin0123"));
  EXPECT_TRUE(kept.ends_with("6789end"));
  EXPECT_NE(kept.find("\n… 976008 bytes are left out here\n"), std::string::npos);
}

TEST(BoundedText, KeepsAllOfAShortText) {
  BoundedText text;
  EXPECT_EQ(text.text(), "");
  const std::string long_enough(23'999, 'x');
  text.add(long_enough);
  EXPECT_EQ(text.text(), long_enough);
}

}  // namespace
}  // namespace sampan::mcp
