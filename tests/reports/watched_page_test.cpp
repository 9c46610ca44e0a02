// The pages of the heap and of locks, of stacks as text: golden/ as of page_test.cpp.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "profile/heap.h"
#include "profile/locks.h"
#include "reports/report.h"
#include "support/text_profile.h"

namespace sampan::reports {
namespace {

constexpr uint64_t kMean = 512 << 10;
// A line stands for as many blocks, or waits, as it has samples.
constexpr const char* kStacks = R"(
# process 100 /usr/bin/app
# thread 100 app
main@src/main.c:10:20;load@src/load.c:5;parse_line@src/load.c:50 40
main@src/main.c:10:30;cache_put@src/cache.c:7 20
# thread 101 worker
start_thread@@/lib/libc.so.6;serve@src/serve.c:9;cache_put@src/cache.c:7 30
)";

profile::Profile recorded() {
  profile::Profile profile = test::profile_of(kStacks);
  profile.session.program = "app";
  profile.session.command = {"app", "--serve"};
  profile.end.emplace().time_ns = 200'000'000;
  profile.end->exit_status = 0;
  return profile;
}

profile::Profile heap() {
  profile::Profile profile = recorded();
  for (const profile::Sample& sample : profile.samples) {
    profile::Block& block = profile.blocks.emplace_back();
    block.time_ns = sample.time_ns;
    block.thread = sample.thread;
    block.stack = sample.stack;
    block.size = sample.thread == 0 ? 64 << 10 : 1 << 20;
    block.mean = kMean;
    if (profile.blocks.size() % 3 == 0) continue;  // it lives
    block.freed_ns = block.time_ns + 2'000'000;
    block.freeing_thread = sample.thread;
    block.freeing_stack = profile.stacks[sample.stack].prefix;
  }
  profile.watch_changes = {{0, 0, profile::Watched::kHeap, kMean},
                           {0, 150'000'000, profile::Watched::kHeap, 0}};
  profile.unknown_frees = 3;
  profile.losses[static_cast<size_t>(wire::Loss::kFreeLost)] = 2;
  show_heap(&profile);
  return profile;
}

profile::Profile locks() {
  profile::Profile profile = recorded();
  profile.locks = {{.process = 0, .address = 0x7000}, {.process = 0, .address = 0x7100}};
  profile.locks[1].origin = 0;
  profile.locks[1].kind = wire::LockKind::kWriteLock;
  for (const profile::Sample& sample : profile.samples) {
    profile::LockWait& wait = profile.lock_waits.emplace_back();
    wait.begin_ns = sample.time_ns - 1'000'000;
    wait.duration_ns = sample.thread == 0 ? 1'000'000 : 4'000;
    wait.limit_ns = 10'000;
    wait.thread = sample.thread;
    wait.stack = sample.stack;
    wait.lock = sample.thread;
    wait.kind = sample.thread == 0 ? wire::LockKind::kMutex : wire::LockKind::kReadLock;
    if (sample.thread != 0) continue;
    wait.holder = wait.waker = 1;
    wait.holder_stack = wait.waker_stack = profile.samples.back().stack;
  }
  profile.watch_changes = {{0, 0, profile::Watched::kLocks, 10'000}};
  show_locks(&profile);
  return profile;
}

void expect_golden_page(const std::string& name, const std::string& text) {
  const std::string path = std::string(GOLDEN_DIRECTORY) + "/" + name + ".txt";
  if (std::getenv("SAMPAN_REWRITE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::ostringstream golden;
  golden << std::ifstream(path).rdbuf();
  EXPECT_EQ(text, golden.str());
}

rapidjson::Document parsed_json(const profile::View& view) {
  rapidjson::Document document;
  document.Parse(json(view).c_str());
  EXPECT_FALSE(document.HasParseError());
  return document;
}

TEST(WatchedPage, ShowsTheHeap) {
  const profile::Profile profile = heap();
  PageOptions options;
  options.width = 120;
  expect_golden_page("page_heap", page(select(profile), options));
  expect_golden_page("page_heap_allocated",
                     page(select(profile, {.heap = profile::HeapPart::kAllocated}), options));
  options.tree = true;
  expect_golden_page("page_heap_tree", page(select(profile), options));
}

// A program that frees all at its end: what it had is at another time, which is one that `--to` takes.
TEST(WatchedPage, SaysWhenAHeapThatIsEmptyAtTheEndWasLargest) {
  profile::Profile profile = heap();
  for (profile::Block& block : profile.blocks) {
    block.time_ns += 1'000'000'000'000;
    block.freed_ns = block.time_ns + 2'000'000;
  }
  show_heap(&profile);
  const uint64_t peak_ns = heap_totals(select(profile)).peak_ns;
  const std::string note =
      fmt::format("`--to {:.3f}s` shows what lived then", static_cast<double>(peak_ns) * 1e-9);
  EXPECT_GT(peak_ns, 1'000'000'000'000u);
  EXPECT_NE(page(select(profile)).find(note), std::string::npos) << page(select(profile));
  EXPECT_EQ(page(select(profile, {.heap = profile::HeapPart::kAllocated})).find("--to"),
            std::string::npos);
}

TEST(WatchedPage, ShowsLocks) {
  const profile::Profile profile = locks();
  PageOptions options;
  options.width = 120;
  expect_golden_page("page_locks", page(select(profile), options));
}

TEST(WatchedPage, SaysNothingOfTheHoldersOfNoWaits) {
  profile::Profile profile = recorded();
  profile.watch_changes = {{0, 0, profile::Watched::kLocks, 10'000}};
  show_locks(&profile);
  const std::string text = page(select(profile));
  EXPECT_NE(text.find("in 0 waits"), std::string::npos) << text;
  EXPECT_EQ(text.find("the holder is known"), std::string::npos) << text;
}

// A thread that never waits does not make all others idle ones, which the page of the time hides.
TEST(WatchedPage, ShowsLocksBesideAThreadThatNeverWaits) {
  profile::Profile profile = locks();
  profile::Thread& busy = profile.threads.emplace_back(profile.threads.front());
  busy.tid = 102;
  busy.samples = busy.waiting_samples = busy.waiting_ns = 0;
  EXPECT_NE(page(select(profile)).find("Locks, most waited first"), std::string::npos);
}

TEST(WatchedPage, TheHeapAsDataHasTheSameSums) {
  const profile::Profile profile = heap();
  const profile::View view = select(profile);
  const rapidjson::Document document = parsed_json(view);
  EXPECT_STREQ(document["unit"].GetString(), "bytes");
  const auto& heap = document["heap"];
  const double live = heap["live"]["bytes"].GetDouble();
  EXPECT_DOUBLE_EQ(live, estimate(view).bytes);
  double functions = 0, leaf_first = 0;
  for (const auto& row : heap["functions"].GetArray()) {
    functions += row["live"]["bytes"].GetDouble();
    if (leaf_first == 0) leaf_first = row["live"]["bytes"].GetDouble();
    EXPECT_LE(row["live"]["bytes"].GetDouble(), row["live_total"]["bytes"].GetDouble());
    EXPECT_LE(row["live_total"]["bytes"].GetDouble(), live * (1 + 1e-9));
  }
  EXPECT_NEAR(functions, live, live * 1e-9);
  EXPECT_GE(leaf_first, functions / 3);
  EXPECT_EQ(heap["unknown_frees"].GetUint(), 3u);
  EXPECT_GT(heap["possible_leaks"].Size(), 0u);
}

TEST(WatchedPage, LocksAsDataHaveTheSameSums) {
  const profile::Profile profile = locks();
  const rapidjson::Document document = parsed_json(select(profile));
  const auto& locks = document["locks"];
  EXPECT_NEAR(locks["waiting_s"].GetDouble(), 60 * 1e-3 + 30 * 10e-6, 1e-9);
  EXPECT_NEAR(locks["waits"].GetDouble(), 60 + 30 * 2.5, 1e-9);
  ASSERT_EQ(locks["table"].Size(), 2u);
  EXPECT_STREQ(locks["table"][0]["kind"].GetString(), "mutex");
  EXPECT_STREQ(locks["blocked_by"][0]["held_in"].GetString(), "cache_put");
}

}  // namespace
}  // namespace sampan::reports
