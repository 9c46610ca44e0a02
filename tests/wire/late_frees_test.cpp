#include "wire/late_frees.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace sampan::wire {
namespace {

std::set<uint64_t> taken(LateFrees& frees) {
  std::set<uint64_t> ids;
  frees.take([&](uint64_t id) { EXPECT_TRUE(ids.insert(id).second) << id; });
  return ids;
}

TEST(LateFrees, EachIdIsTakenOnce) {
  const auto frees = std::make_unique<LateFrees>();
  EXPECT_TRUE(taken(*frees).empty());
  EXPECT_TRUE(frees->put(7));
  EXPECT_TRUE(frees->put(8));
  EXPECT_EQ(frees->count(), 2u);
  EXPECT_EQ(taken(*frees), (std::set<uint64_t>{7, 8}));
  EXPECT_TRUE(taken(*frees).empty());
  EXPECT_TRUE(frees->put(9));
  EXPECT_EQ(frees->count(), 3u);
  EXPECT_EQ(taken(*frees), (std::set<uint64_t>{9}));
}

TEST(LateFrees, AFullSetRefusesAndForgetsNothing) {
  const auto frees = std::make_unique<LateFrees>();
  std::set<uint64_t> put;
  bool refused = false;
  for (uint64_t id = 1; id <= LateFrees::kPlaces + 1; ++id) {
    if (frees->put(id)) {
      put.insert(id);
    } else {
      refused = true;
    }
  }
  EXPECT_TRUE(refused);
  EXPECT_GT(put.size(), LateFrees::kPlaces * 9 / 10);
  EXPECT_EQ(taken(*frees), put);
}

TEST(LateFrees, ThreadsPutWhileTheCollectorTakes) {
  const auto frees = std::make_unique<LateFrees>();
  constexpr uint64_t kThreads = 4, kEach = 10'000;
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&frees, i] {
      for (uint64_t k = 1; k <= kEach; ++k) EXPECT_TRUE(frees->put(i * kEach + k));
    });
  }
  std::set<uint64_t> ids;
  while (ids.size() < kThreads * kEach / 2) ids.merge(taken(*frees));
  for (std::thread& thread : threads) thread.join();
  ids.merge(taken(*frees));
  EXPECT_EQ(ids.size(), kThreads * kEach);
}

}  // namespace
}  // namespace sampan::wire
