#include "recording/columns.h"

#include <gtest/gtest.h>

namespace sampan::recording {
namespace {

TEST(Columns, ComeBack) {
  ColumnWriter out;
  out.uleb(UINT64_MAX);
  out.zigzag(INT64_MIN);
  out.delta(3, UINT64_MAX);  // wraps
  out.ref(kNone);
  out.ref(6);
  out.string("a;b");
  out.maybe(std::optional<int>(-5));
  out.maybe(std::optional<uint64_t>());

  ColumnReader in(out.bytes());
  EXPECT_EQ(in.uleb(), UINT64_MAX);
  EXPECT_EQ(in.zigzag(), INT64_MIN);
  EXPECT_EQ(in.delta(UINT64_MAX), 3u);
  EXPECT_EQ(in.ref(7), kNone);
  EXPECT_EQ(in.ref(7), 6u);
  EXPECT_EQ(in.string(), "a;b");
  EXPECT_EQ(in.maybe_i32(), -5);
  EXPECT_EQ(in.maybe_u64(), std::nullopt);
  EXPECT_TRUE(in.ok());
  EXPECT_TRUE(in.at_end());
}

TEST(Columns, RefuseWhatIsOutOfRange) {
  const auto refused = [](auto write, auto read) {
    ColumnWriter out;
    write(out);
    ColumnReader in(out.bytes());
    read(in);
    return !in.ok();
  };
  EXPECT_TRUE(refused([](auto& out) { out.ref(7); }, [](auto& in) { in.ref(7); }));
  EXPECT_TRUE(refused([](auto& out) { out.uleb(7); }, [](auto& in) { in.index(7); }));
  EXPECT_TRUE(refused([](auto& out) { out.uleb(1); }, [](auto& in) { in.count(); }));
  EXPECT_TRUE(refused([](auto& out) { out.uleb(1ull << 32); }, [](auto& in) { in.uleb32(); }));
  EXPECT_TRUE(refused([](auto& out) { out.zigzag(1ll << 31); }, [](auto& in) { in.zigzag32(); }));
  EXPECT_TRUE(refused([](auto& out) { out.uleb(5); }, [](auto& in) { in.string(); }));
  EXPECT_FALSE(refused([](auto& out) { out.uleb(6); }, [](auto& in) { in.index(7); }));
}

}  // namespace
}  // namespace sampan::recording
