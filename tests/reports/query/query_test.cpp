// Answers are those that the reports give, and a statement can only read.
#include "reports/query/query.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "reports/query/tables.h"
#include "support/text_profile.h"

namespace sampan::reports {
namespace {

using ::testing::HasSubstr;

// As comma-separated values, without the names of the columns.
std::string answer(const profile::Profile& profile, const std::string& sql) {
  std::string text;
  query(profile, sql, *csv_rows([&](std::string_view part) { text += part; }));
  return text.substr(text.find('\n') + 1);
}

std::string answer(const std::string& stacks, const std::string& sql) {
  return answer(test::profile_of(stacks), sql);
}

std::string refused(const std::string& sql) {
  try {
    return "not refused: " + answer("main 1", sql);
  } catch (const Error& error) {
    return error.what();
  }
}

constexpr const char* kStacks =
    "# process 100 /usr/bin/app\n"
    "# thread 100 app\n"
    "main;work@app.c:10:12;outer=>inner 3\n"
    "main;work@app.c:10:13 1\n"
    "main;read;~read pipe:[7] 5\n"
    "~runnable 2\n"
    "# thread 101 worker\n"
    "run@w.py:3:5:9@[python] 4\n"
    " 2\n";

TEST(Query, SumsTheTimeOfFunctions) {
  EXPECT_EQ(answer(kStacks,
                   "SELECT name, sum(weight_ns) FROM samples JOIN functions ON "
                   "functions.id = samples.function WHERE state = 'cpu' GROUP BY 1 "
                   "ORDER BY 2 DESC, 1"),
            "run,16000000\ninner,12000000\nwork,4000000\n");
  EXPECT_EQ(answer(kStacks,
                   "SELECT state, count(*), sum(weight_ns)/1e6 FROM samples GROUP BY 1 "
                   "ORDER BY 1"),
            "cpu,10,40\nrunnable,2,8\nwaiting,5,20\n");
}

TEST(Query, AStackIsItsFrames) {
  EXPECT_EQ(answer(kStacks,
                   "SELECT depth, f.name, f.file, f.line, is_inlined FROM samples s JOIN frames f "
                   "ON f.stack = s.stack JOIN functions u ON u.id = s.function WHERE u.name = "
                   "'inner' GROUP BY depth"),
            "0,inner,,,1\n1,outer,,,0\n2,work,app.c,12,0\n3,main,,,0\n");
  EXPECT_EQ(answer(kStacks,
                   "WITH w AS (SELECT stack, sum(weight_ns) AS ns FROM samples GROUP BY stack) "
                   "SELECT name, sum(ns) FROM w JOIN (SELECT DISTINCT stack, name FROM frames) "
                   "USING (stack) WHERE name IN ('main', 'work') GROUP BY name"),
            "main,36000000\nwork,16000000\n");
}

TEST(Query, SaysWhatThreadsWaitFor) {
  EXPECT_EQ(answer(kStacks,
                   "SELECT call, object, count(*) FROM samples JOIN waits ON waits.id = "
                   "samples.wait GROUP BY 1 ORDER BY 1"),
            "read,pipe:[7],5\nrunnable,,2\n");
  EXPECT_EQ(answer(kStacks, "SELECT kind, count(*) FROM functions GROUP BY 1"),
            "native,5\npython,1\nwait,2\n");
}

TEST(Query, KnowsThreadsAndProcesses) {
  EXPECT_EQ(answer(kStacks,
                   "SELECT pid, p.name, tid, t.name, is_main, t.sampled_cpu_ns FROM "
                   "threads t JOIN processes p ON p.id = t.process ORDER BY tid"),
            "100,app,100,app,1,16000000\n100,app,101,worker,0,24000000\n");
}

TEST(Query, HasMarkers) {
  profile::Profile profile = test::profile_of("main 5");
  profile.markers.texts = {"", "request", "GET /", "queue"};
  profile.markers.spans = {{.begin_ns = 10, .end_ns = 90, .id = 5, .name = 1, .text = 2},
                           {.begin_ns = 20,
                            .end_ns = 30,
                            .id = 6,
                            .parent_id = 5,
                            .name = 1,
                            .closed = profile::Closed::kByThreadEnd}};
  profile.markers.counters = {{.time_ns = 40, .value = 2.5, .name = 3}};
  EXPECT_EQ(
      answer(profile, "SELECT id, end_ns - begin_ns, name, text, parent, ended_by FROM spans"),
      "0,80,request,GET /,,program\n1,10,request,,0,end of thread\n");
  EXPECT_EQ(answer(profile, "SELECT time_ns, name, value FROM counters"), "40,queue,2.5\n");
}

// Both are certain to be drawn, so each stands for itself.
TEST(Query, HasAllocations) {
  profile::Profile profile = test::profile_of("main;make 1\nmain;drop 1\n");
  profile.blocks.resize(2);
  for (profile::Block& block : profile.blocks) {
    block = {
        .time_ns = 10, .thread = 0, .stack = profile.samples[0].stack, .size = 1000, .mean = 1};
  }
  profile.blocks[0].freed_ns = 30;
  profile.blocks[0].freeing_thread = 0;
  profile.blocks[0].freeing_stack = profile.samples[1].stack;
  profile.blocks[1].kind = wire::AllocationKind::kMapping;
  profile.blocks[1].size = 500;
  EXPECT_EQ(
      answer(profile,
             "SELECT a.time_ns, a.kind, size, bytes, blocks, tid, f.name, freed_ns, u.name FROM "
             "allocations a JOIN threads t ON t.id = a.thread JOIN functions f ON f.id = "
             "a.function LEFT JOIN functions u ON u.id = a.freeing_function ORDER BY a.id"),
      "10,heap,1000,1000,1,100,make,30,drop\n10,mapping,500,500,1,100,make,,\n");
  EXPECT_EQ(
      answer(profile,
             "SELECT group_concat(f.name, ' < ') FROM allocations a JOIN frames f ON f.stack = "
             "a.freeing_stack"),
      "drop < main\n");
}

TEST(Query, HasWaitsForLocks) {
  profile::Profile profile = test::profile_of("main;take 1\nmain;hold 1\nmain;wake 1\n");
  profile.locks = {{.process = 0, .address = 0x7000}};
  profile::LockWait wait;
  wait.begin_ns = 10;
  wait.duration_ns = 250;
  wait.limit_ns = 1000;
  wait.thread = wait.holder = wait.waker = 0;
  wait.stack = profile.samples[0].stack;
  wait.lock = 0;
  wait.holder_stack = profile.samples[1].stack;
  wait.waker_stack = profile.samples[2].stack;
  wait.woken_ns = 200;
  profile.lock_waits = {wait, wait};
  profile.lock_waits[1].holder = profile.lock_waits[1].holder_stack = profile::kNone;
  profile.lock_waits[1].kind = wire::LockKind::kReadLock;
  EXPECT_EQ(
      answer(profile,
             "SELECT l.name, w.kind, begin_ns, duration_ns, waited_ns, waits, f.name, holder, "
             "h.name, k.name, woken_ns FROM lock_waits w JOIN locks l ON l.id = w.lock JOIN "
             "functions f ON f.id = w.function LEFT JOIN functions h ON h.id = "
             "w.holder_function JOIN functions k ON k.id = w.waker_function ORDER BY w.id"),
      "0x7000,mutex,10,250,1000,4,take,0,hold,wake,200\n"
      "0x7000,read lock,10,250,1000,4,take,,,wake,200\n");
}

// With `+`, SQLite reads all rows and compares; without, it asks for the rows with the number.
TEST(Query, ARowIsFoundByItsNumber) {
  const std::set<std::string_view> without_rows = {"losses", "events",      "spans", "counters",
                                                   "steps",  "allocations", "locks", "lock_waits"};
  const profile::Profile profile = test::profile_of(kStacks);
  for (const auto& table : query_tables(profile)) {
    const char* const name = table->name();
    const char* const key = table->columns().front().name;
    for (const char* value : {"0", "1", "3", "7", "-1", "1000000", "1.0", "0.5", "'x'", "NULL",
                              "9223372036854775807"}) {
      EXPECT_EQ(answer(profile, fmt::format("SELECT * FROM {} WHERE {} = {}", name, key, value)),
                answer(profile, fmt::format("SELECT * FROM {} WHERE +{} = {}", name, key, value)))
          << name << " " << value;
    }
    const bool has_rows = !without_rows.contains(name);
    EXPECT_EQ(answer(profile, fmt::format("SELECT count(*) > 0 FROM {}", name)),
              has_rows ? "1\n" : "0\n");
  }
}

// SQLite looks for each part on its own, and takes rows that both have found once.
TEST(Query, EachPartOfAnOrFindsItsRows) {
  const profile::Profile profile = test::profile_of(kStacks);
  EXPECT_EQ(answer(profile,
                   "SELECT id FROM threads WHERE (id = 0 AND tid > 0) OR (id = 1 AND is_main = 0) "
                   "OR (id = 1 AND tid > 0) ORDER BY id"),
            "0\n1\n");
  const std::string counted =
      "SELECT count(*) FROM frames WHERE (stack = 2 AND depth >= 0) OR (stack IN (2, 5) AND line "
      "IS NULL)";
  EXPECT_EQ(answer(profile, counted),
            answer(profile,
                   "SELECT count(*) FROM frames WHERE (+stack = 2 AND depth >= 0) OR (+stack IN "
                   "(2, 5) AND line IS NULL)"));
}

TEST(Query, OnlyReads) {
  for (const char* sql :
       {"CREATE TABLE x(y)", "CREATE VIEW x AS SELECT 1", "ATTACH '/tmp/x' AS x",
        "INSERT INTO threads VALUES (1)", "DELETE FROM threads", "PRAGMA user_version",
        "SELECT * FROM pragma_database_list", "VACUUM INTO '/tmp/x'", "BEGIN",
        "SELECT load_extension('/tmp/x')", "DROP TABLE threads"}) {
    EXPECT_THAT(refused(sql),
                ::testing::AnyOf(HasSubstr("only SELECT is permitted"),
                                 HasSubstr("may not be modified"), HasSubstr("may not be dropped")))
        << sql;
  }
  for (const char* sql : {"", " ; ", "-- nothing", "SELECT 1; SELECT 2"}) {
    EXPECT_THAT(refused(sql), HasSubstr("one statement is wanted")) << sql;
  }
  EXPECT_THAT(refused("SELECT x FROM threads"), HasSubstr("no such column: x"));
  EXPECT_THAT(refused("SELECT abs(-9223372036854775808)"), HasSubstr("integer overflow"));
}

TEST(Query, ThePageHasTheSchema) {
  std::ifstream file(SCHEMA_PAGE);
  const std::string page(std::istreambuf_iterator<char>(file), {});
  std::string indented;
  std::string schema = query_schema();
  for (size_t end; (end = schema.find('\n')) != std::string::npos; schema.erase(0, end + 1)) {
    indented += "    " + schema.substr(0, end + 1);
  }
  EXPECT_THAT(page, HasSubstr(indented)) << "update docs/query.md from `sampan query --schema`";
}

}  // namespace
}  // namespace sampan::reports
