#include <gtest/gtest.h>

#include "base/units.h"
#include "recording/codec.h"
#include "recording/complete_file.h"
#include "recording/example.h"
#include "recording/merge.h"
#include "recording/segments.h"

namespace sampan::recording {
namespace {

// Three files of a second each: the rate changes in the first and in the last one.
class RatesTest : public testing::Test {
 protected:
  RatesTest() : writer_(path(0), example_session()) {
    process_ = writer_.add(Process{4711, 1, 0, "/usr/bin/app"});
    thread_ = writer_.add(Thread{process_, 4711, 0, "app"});
    writer_.add(Cost{});
    change(300'000'000, 100, true);
    cost(900'000'000, 1);
    writer_.rotate(path(1), kNsPerSecond);
    writer_.add(Sample{thread_, kNone, kNsPerSecond + 500, 1000, {}});
    cost(1'900'000'000, 2);
    writer_.rotate(path(2), 2 * kNsPerSecond);
    change(2'500'000'000, 400, false);
    cost(2'900'000'000, 3);
    SessionEnd end;
    end.time_ns = 3 * kNsPerSecond;
    writer_.finish(end);
  }

  std::string path(uint32_t number) const { return directory_.file(segment_file_name(number)); }
  void change(SessionNs time_ns, uint32_t rate_hz, bool governed) {
    writer_.add(RateChange{time_ns, rate_hz, governed});
  }
  void cost(SessionNs time_ns, uint64_t times) {
    writer_.add(Cost{time_ns, 1000 * times, 10 * times, times});
  }
  Recording joined() const { return read_segments({path(0), path(1), path(2)}); }

  test::ScratchDirectory directory_;
  Writer writer_;
  uint32_t process_ = kNone, thread_ = kNone;
};

const std::vector<RateChange> kChanges = {{300'000'000, 100, true}, {2'500'000'000, 400, false}};

TEST_F(RatesTest, EachFileBeginsWithWhatHeld) {
  const Recording second = read(path(1));
  ASSERT_EQ(second.damage, std::vector<std::string>());
  EXPECT_EQ(second.rates.changes, (std::vector<RateChange>{{kNsPerSecond, 100, true}}));
  EXPECT_EQ(second.rates.costs,
            (std::vector<Cost>{{kNsPerSecond, 1000, 10, 1}, {1'900'000'000, 2000, 20, 2}}));
}

TEST_F(RatesTest, JoinedFilesSayEachChangeOnce) {
  const Recording all = joined();
  EXPECT_EQ(all.rates.changes, kChanges);
  EXPECT_EQ(all.rates.costs.front(), Cost{});
  EXPECT_EQ(all.rates.costs.back(), (Cost{2'900'000'000, 3000, 30, 3}));
  for (size_t i = 1; i < all.rates.costs.size(); ++i) {
    EXPECT_GE(all.rates.costs[i].target_ns, all.rates.costs[i - 1].target_ns);
  }
}

TEST_F(RatesTest, APartHasTheRateThatItBeganWith) {
  const Recording part = rebased(cut(joined(), kNsPerSecond + 1, 3 * kNsPerSecond));
  ASSERT_EQ(part.rates.changes.size(), 2u);
  EXPECT_EQ(part.rates.changes[0].time_ns, 0u);
  EXPECT_EQ(part.rates.changes[0].rate_hz, 100u);
  EXPECT_EQ(part.rates.changes[1].time_ns, 1'500'000'000u - 1);
  EXPECT_EQ(part.rates.costs.front().target_ns, 1000u) << "what it had cost before";
  const Recording early = cut(joined(), 0, kNsPerSecond);
  EXPECT_EQ(early.rates.changes, (std::vector<RateChange>{kChanges[0]}));
}

TEST_F(RatesTest, WrittenAgainTheyAreTheSame) {
  const std::string copy = directory_.file("copy.sampan");
  write(joined(), copy);
  const Recording again = read(copy);
  EXPECT_EQ(again.rates.changes, kChanges);
  EXPECT_EQ(again.rates.costs, joined().rates.costs);
}

TEST_F(RatesTest, MergedTheCostsAddUp) {
  std::vector<MergeInput> inputs;
  inputs.push_back({"a", joined()});
  inputs.push_back({"b", joined()});
  const Recording merged = merge(std::move(inputs), Align::kStart);
  EXPECT_TRUE(merged.rates.changes.empty()) << "each had its own";
  ASSERT_EQ(merged.rates.costs.size(), 2u);
  EXPECT_EQ(merged.rates.costs[0], Cost{});
  EXPECT_EQ(merged.rates.costs[1], (Cost{2'900'000'000, 6000, 60, 6}));
}

TEST(Rates, APayloadThatMakesNoSenseIsRefusedWhole) {
  Rates rates{{{1, 100, false}}, {}};
  ColumnWriter payload;
  encode(Rates{{{5, 250, true}}, {Cost{5, 1, 1, 1}}}, &payload);
  for (size_t size = 0; size < payload.bytes().size(); ++size) {
    EXPECT_FALSE(decode_rates(std::span(payload.bytes()).first(size), &rates)) << size;
    EXPECT_EQ(rates.changes.size(), 1u);
  }
  EXPECT_TRUE(decode_rates(payload.bytes(), &rates));
  EXPECT_EQ(rates.changes.size(), 2u);
  ColumnWriter no_rate;
  encode(Rates{{{5, 0, false}}, {}}, &no_rate);
  EXPECT_FALSE(decode_rates(no_rate.bytes(), &rates)) << "a rate of nothing";
}

TEST(Rates, ARecordingOfTheVersionBeforeIsRead) {
  test::ScratchDirectory directory;
  const std::string path = directory.file("old.sampan");
  {
    Writer writer(path, example_session());
    write_example(writer, 1);
    writer.finish({});
  }
  std::string bytes = bytes_of(path);
  bytes[6] = 5;
  const Recording old = parse(bytes, path);
  EXPECT_TRUE(old.damage.empty());
  EXPECT_TRUE(old.rates.changes.empty());
  EXPECT_EQ(old.session.rate_hz, 1000u);
}

}  // namespace
}  // namespace sampan::recording
