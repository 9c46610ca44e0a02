// One profile that shows its samples, its heap and its locks in turn.
#include "profile/shown.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "profile/locks.h"
#include "profile/weights.h"
#include "support/text_profile.h"

namespace sampan::profile {
namespace {

// Two threads, of which the second also allocates and waits for a lock; each by the stack of its first
// sample.
Profile with_all() {
  Profile profile = test::profile_of(
      "# process 100 /bin/app\n# thread 100 app\nmain;work 2\n# thread 101 worker\nstart;loop 3\n");
  const uint32_t stack = profile.samples.back().stack;
  for (const uint64_t time_ns : {5'000'000, 9'000'000}) {
    Block& block = profile.blocks.emplace_back();
    block.time_ns = SessionNs::at(time_ns);
    block.thread = 1;
    block.stack = stack;
    block.size = 1 << 20;
    block.mean = 1 << 10;
  }
  profile.blocks[0].freed_ns = 8'000'000;
  profile.locks.push_back({.process = 0, .address = 0x7000});
  LockWait& wait = profile.lock_waits.emplace_back();
  wait.begin_ns = 1'000'000;
  wait.duration_ns = wait.limit_ns = 10'000;
  wait.thread = 1;
  wait.stack = stack;
  wait.lock = 0;
  return profile;
}

std::vector<uint64_t> weights(const View& view) {
  std::vector<uint64_t> weights;
  for (const uint32_t sample : view.samples) {
    weights.push_back(view.profile->samples[sample].weight_ns);
  }
  return weights;
}

TEST(Shown, SamplesComeBackAsTheyWere) {
  const Profile before = with_all();
  Profile profile = before;
  for (const Shown shown : {Shown::kHeap, Shown::kLocks, Shown::kHeap}) show(shown, &profile);
  EXPECT_EQ(profile.session.unit, "bytes");
  EXPECT_EQ(profile.session.clock, before.session.clock);
  show(Shown::kSamples, &profile);
  EXPECT_EQ(profile.session.unit, "");
  EXPECT_FALSE(profile.has_waits());
  EXPECT_EQ(test::text_of(select(profile)), test::text_of(select(before)));
  EXPECT_EQ(weights(select(profile)), weights(select(before)));
  for (size_t i = 0; i < before.threads.size(); ++i) {
    EXPECT_EQ(profile.threads[i].cpu_ns, before.threads[i].cpu_ns);
    EXPECT_EQ(profile.threads[i].sampled_cpu_ns, before.threads[i].sampled_cpu_ns);
    EXPECT_EQ(profile.threads[i].samples, before.threads[i].samples);
  }
}

TEST(Shown, LocksHaveTheirNamesAlsoWhereOthersWereFoundBefore) {
  Profile profile = with_all();
  show(Shown::kLocks, &profile);
  EXPECT_EQ(test::text_of(select(profile, {.threads = {"worker"}})),
            "# thread 101 worker\nstart;loop;[mutex 0x7000] 1\n");
}

TEST(Shown, TheSamePartHasTheSameThreadsAndTime) {
  const Profile profile = with_all();
  Profile other = profile;
  show(Shown::kHeap, &other);
  const View whole = select(profile);
  EXPECT_EQ(same_part(other, whole, HeapPart::kAllocated).samples.size(), 2u);
  EXPECT_EQ(same_part(other, whole, HeapPart::kLive).samples, std::vector<uint32_t>{1});
  EXPECT_EQ(same_part(other, whole, HeapPart::kLive).threads, whole.threads);
  EXPECT_TRUE(same_part(other, select(profile, {.threads = {"app"}}), HeapPart::kAllocated)
                  .samples.empty());
  const View early = select(profile, {.to_s = 0.006});
  EXPECT_EQ(same_part(other, early, HeapPart::kAllocated).samples, std::vector<uint32_t>{0});
  EXPECT_EQ(same_part(other, early, HeapPart::kLive).samples, std::vector<uint32_t>{0});

  const View heap = select(other, {.to_s = 0.009});
  show(Shown::kSamples, &other);
  EXPECT_EQ(same_part(other, heap, HeapPart::kLive).samples,
            select(profile, {.to_s = 0.009}).samples);
}

TEST(Shown, WhatWasNotRecordedCannotBeShown) {
  const Profile none = test::profile_of("main;work 2\n");
  EXPECT_TRUE(none.can_show(Shown::kSamples));
  EXPECT_FALSE(none.can_show(Shown::kHeap));
  EXPECT_FALSE(none.can_show(Shown::kLocks));
  EXPECT_TRUE(with_all().can_show(Shown::kHeap));
  EXPECT_TRUE(with_all().can_show(Shown::kLocks));
}

}  // namespace
}  // namespace sampan::profile
