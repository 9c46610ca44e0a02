// Stacks as text in, the page as text out. The pages are in golden/, named after their options;
// SAMPAN_REWRITE_GOLDEN=1 writes them anew, to be looked at with `git diff`.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "profile/view.h"
#include "reports/report.h"
#include "support/text_profile.h"

namespace sampan::reports {
namespace {

// Two processes, five threads (two of one name, one never seen running), inlining, recursion,
// several modules, a long name, stacks that are not complete, and nothing known at all.
constexpr const char* kText = R"(
# process 100 /usr/bin/app
# thread 100 app
main@src/main.c:10:20;parse@/home/me/project/source/parser/parse.c:100:120 100
main@src/main.c:10:21;fib@src/fib.c:5:6;fib@src/fib.c:5:6;fib@src/fib.c:5:7 50
main@src/main.c:10:22=>helper@src/helper.h:3:4;memcpy@@/lib/x86_64-linux-gnu/libc.so.6 50
# thread 101 worker
start_thread@@/lib/x86_64-linux-gnu/libc.so.6;std::vector<std::pair<int, long>, std::allocator<std::pair<int, long> > >::emplace_back(int&, long&&)@/usr/include/c++/12/bits/vector.tcc:100 600
...;[libz.so.1+0x1234]@@/lib/libz.so.1 100
 7
# thread 102 worker
start_thread@@/lib/x86_64-linux-gnu/libc.so.6;crc@crc.c:1 90
# thread 103 idle
# process 200 /usr/bin/child
# thread 200 child
_start;main@child.c:1;tiny@child.c:9 1
_start;main@child.c:1;busy@child.c:20 2
)";

profile::Profile example() {
  profile::Profile profile = test::profile_of(kText);
  profile.session.program = "app";
  profile.session.command = {"app", "--level", "9", "input file"};
  profile.session.rate_hz = 1000;
  profile.losses[static_cast<size_t>(wire::Loss::kPerfRefused)] = 5;
  profile.losses[static_cast<size_t>(wire::Loss::kRingFull)] = 1200;
  for (profile::Process& process : profile.processes) process.exit_status = 0;
  profile.processes[0].cpu_ns = 4'020'000'000;
  profile.processes[1].exit_status.reset();
  profile.processes[1].exit_signal = 11;
  profile.threads[0].cpu_ns = 804'000'000;
  profile.threads[2].cpu_ns.reset();
  return profile;
}

void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(GOLDEN_DIRECTORY) + "/" + name + ".txt";
  if (std::getenv("SAMPAN_REWRITE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::ostringstream golden;
  golden << std::ifstream(path).rdbuf();
  EXPECT_EQ(text, golden.str()) << path;
}

TEST(Page, Default) {
  const profile::Profile profile = example();
  const std::string text = page(select(profile));
  expect_golden("page", text);
}

TEST(Page, Wide) {
  const profile::Profile profile = example();
  expect_golden("page_wide", page(select(profile), {.width = 200}));
}

// A thread that works by turns, one that waits for a CPU, a pool that only waits.
constexpr const char* kWaits = R"(
# process 100 /usr/bin/server
# thread 100 server
main@main.c:1;serve@serve.c:9;compute@serve.c:90 300
main@main.c:1;serve@serve.c:9;read@@/lib/libc.so.6;~read tcp 10.0.0.1:443 100
main@main.c:1;serve@serve.c:9;pthread_mutex_lock@@/lib/libc.so.6;~futex 50
~runnable 50
# thread 101 pool
start_thread@@/lib/libc.so.6;take@pool.c:7;~epoll_wait 3 descriptors 500
# thread 102 pool
start_thread@@/lib/libc.so.6;take@pool.c:7;~epoll_wait 3 descriptors 500
)";

TEST(Page, SaysWhyARateAboveTheTickIsNotAchieved) {
  profile::Profile profile = example();
  std::ranges::fill(profile.losses, 0);
  profile.session.engine = "preload";
  EXPECT_NE(page(select(profile), {.width = 200})
                .find("250 Hz achieved: code in the kernel is sampled at its tick, 250 Hz\n"),
            std::string::npos);
  profile.session.engine = "ptrace";
  EXPECT_NE(
      page(select(profile), {.width = 200}).find("250 Hz achieved: the kernel's tick is 250 Hz\n"),
      std::string::npos);
  profile.losses[static_cast<size_t>(wire::Loss::kPerfRefused)] = 1;
  profile.end.emplace().sampling_clocks = profile::SessionEnd::kTimerClock;
  EXPECT_NE(page(select(profile), {.width = 200})
                .find("250 Hz achieved: only CPU timers send signals here, and the kernel's tick "
                      "is 250 Hz\n"),
            std::string::npos);
}

TEST(Page, FoldsProcessesThatUsedHardlyAnything) {
  std::string text = "# process 100 /bin/service\n# thread 100 service\nwork 2500\n";
  for (int pid = 101; pid < 106; ++pid) {
    text += fmt::format("# process {0} /bin/sh\n# thread {0} sh{0}\nread_word 1\n", pid);
  }
  const profile::Profile profile = test::profile_of(text);
  const std::string said = page(select(profile));
  EXPECT_NE(said.find("and 5 more processes, 0.020 s of CPU"), std::string::npos) << said;
  EXPECT_NE(said.find("and 5 more threads, 0.020 s of CPU"), std::string::npos) << said;
  EXPECT_EQ(said.find("sh103"), std::string::npos) << said;
}

TEST(Page, FoldsTheShellsOfAWrapper) {
  std::string text = "# process 100 /usr/bin/python3\n# thread 100 python3\nwork 450\n";
  for (int pid = 101; pid < 179; ++pid) {
    text += fmt::format("# process {0} /bin/bash\n# thread {0} bash\nread_word 2\n", pid);
  }
  const std::string said = page(select(test::profile_of(text)));
  EXPECT_NE(said.find("and 78 more processes, 0.624 s of CPU"), std::string::npos) << said;
  EXPECT_NE(said.find("and 78 more threads, 0.624 s of CPU"), std::string::npos) << said;
}

TEST(Page, ShowsTheFirstOfManyEqualThreads) {
  std::string text = "# process 100 /bin/service\n";
  for (int tid = 100; tid < 300; ++tid) text += fmt::format("# thread {0} worker\nwork 2\n", tid);
  const std::string said = page(select(test::profile_of(text)));
  EXPECT_NE(said.find("and 180 more threads, 1.440 s of CPU"), std::string::npos) << said;
}

TEST(Page, OfWallTimeFoldsThreadsThatOnlyWait) {
  const profile::Profile profile = test::profile_of(kWaits);
  expect_golden("page_wall", page(select(profile)));
  expect_golden("page_wall_idle", page(select(profile), {.idle = true, .tree = true}));
}

TEST(Page, OfWallTimeShowsOneStateWhenAsked) {
  const profile::Profile profile = test::profile_of(kWaits);
  profile::Selection selection;
  selection.state = profile::State::kCpu;
  expect_golden("page_wall_cpu", page(select(profile, selection)));
  selection.state = profile::State::kWaiting;
  expect_golden("page_wall_waiting", page(select(profile, selection)));
}

TEST(Page, ShowsInWhichFunctionsTheHoldersOfTheGilWere) {
  const profile::Profile profile = test::profile_of(R"(
# process 100 /usr/bin/python3
# thread 100 python3
run@w.py:3@[python];~GIL held by thread 101 parser held in parse 30
run@w.py:3@[python];~GIL held by thread 101 parser held in read 10
run@w.py:3@[python];~GIL held by thread 101 parser 5
# thread 101 parser
parse@w.py:9@[python] 100
)");
  const std::string text = page(select(profile), {.idle = true});
  const auto has = [&](std::string_view part) {
    EXPECT_NE(text.find(part), text.npos) << part << text;
  };
  has(R"(
The GIL: who waited, and what its holder did (seconds)
  waited     %  thread   held by     in function
   0.120  75.0  python3  101 parser  parse
   0.040  25.0  python3  101 parser  read
  not sampled: 0.020 s, in which the holder had no sample
)");
  has("   0.180  100.0        1  python3  GIL held by thread 101 parser\n");
}

TEST(Page, NamesTheModulesAndFilesOfPythonsFunctions) {
  const profile::Profile profile = test::profile_of(
      "main;dumps@/usr/lib/python3.11/json/__init__.py:183@[python] 4\n"
      "main;dump@/usr/lib/python3.11/json/__init__.py:120@[python] 1\n"
      "main;pack@/srv/w.py:3@[python];deflate@@/lib/libz.so.1 3\n"
      "main;pack@/srv/w.py:3@[python];~read 2\n");
  const auto has = [&](By by, std::string_view row) {
    const std::string text = page(select(profile), {.by = by});
    EXPECT_NE(text.find(row), text.npos) << row << text;
  };
  has(By::kModule, "        5  0.020  50.0  0.020   50.0  json\n");
  has(By::kModule, "        3  0.012  30.0  0.012   30.0  /lib/libz.so.1\n");
  has(By::kModule, "        2  0.008  20.0  0.008   20.0  [no module]\n");
  has(By::kModule, "        0  0.000   0.0  0.020   50.0  /srv/w.py\n");
  has(By::kFile, "        5  0.020  50.0  0.020   50.0  /usr/lib/python3.11/json/__init__.py\n");
  has(By::kFile, "        2  0.008  20.0  0.008   20.0  [no file]\n");
}

TEST(Page, ShowsThreadsThatOnlyWaitWhenThereAreNoOthers) {
  const profile::Profile profile = test::profile_of("main;~read stdin 9\n");
  const std::string text = page(select(profile));
  EXPECT_NE(text.find("read stdin"), text.npos) << text;
  EXPECT_EQ(text.find("--idle"), text.npos) << text;
}

TEST(Page, NoLineIsWiderThanTheTerminal) {
  const profile::Profile profile = example();
  for (const unsigned width : {80u, 100u, 160u}) {
    std::istringstream lines(page(select(profile), {.width = width}));
    for (std::string line; std::getline(lines, line);) {
      size_t columns = 0;
      for (const char c : line) columns += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
      EXPECT_LE(columns, width) << line;
      EXPECT_TRUE(line.empty() || line.back() != ' ') << '"' << line << '"';
    }
  }
}

TEST(Page, IsNotCutWhereThereIsNoTerminal) {
  profile::Profile profile = example();
  const std::string word(200, 'w');
  profile.session.command.push_back(word);
  profile.functions[0].file = profile.strings.intern("/home/" + std::string(200, 'f') + ".c");
  const std::string text = page(select(profile), {.width = kUncut});
  EXPECT_NE(text.find(word), text.npos) << text;
  EXPECT_NE(text.find(std::string(200, 'f') + ".c"), text.npos) << text;
  EXPECT_EQ(text.find("…"), text.npos) << text;
}

TEST(Page, FullNamesWhereAskedFor) {
  const profile::Profile profile = example();
  const std::string full =
      "std::vector<std::pair<int, long>, std::allocator<std::pair<int, long> > >::emplace_back("
      "int&, long&&)";
  for (const bool tree : {false, true}) {
    const std::string brief = page(select(profile), {.tree = tree});
    EXPECT_EQ(brief.find("allocator"), brief.npos) << brief;
    const std::string text = page(select(profile), {.tree = tree, .full_names = true});
    EXPECT_NE(text.find(full), text.npos) << text;
  }
}

TEST(Page, Tree) {
  const profile::Profile profile = example();
  expect_golden("page_tree", page(select(profile), {.tree = true}));
}

TEST(Page, TreeInFull) {
  const profile::Profile profile = example();
  expect_golden("page_tree_top_0", page(select(profile), {.top = 0, .tree = true}));
}

TEST(Page, Callers) {
  const profile::Profile profile = example();
  expect_golden("page_callers_fib", page(select(profile), {.callers = "fib"}));
}

TEST(Page, CallersOfWhatIsNotThere) {
  const profile::Profile profile = example();
  try {
    page(select(profile), {.callers = "memcpi"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "no function has 'memcpi' in its name, did you mean 'memcpy'?");
  }
}

TEST(Page, EveryKindOfTable) {
  const profile::Profile profile = example();
  const std::pair<const char*, By> kinds[] = {{"line", By::kLine},
                                              {"file", By::kFile},
                                              {"module", By::kModule},
                                              {"thread", By::kThread},
                                              {"process", By::kProcess}};
  for (const auto& [name, by] : kinds) {
    expect_golden(std::string("page_by_") + name, page(select(profile), {.by = by}));
  }
}

TEST(Page, EveryOrder) {
  const profile::Profile profile = example();
  const std::pair<const char*, Sort> orders[] = {{"total", Sort::kTotal},
                                                 {"samples", Sort::kSamples},
                                                 {"name", Sort::kName},
                                                 {"file", Sort::kFile}};
  for (const auto& [name, sort] : orders) {
    expect_golden(std::string("page_sort_") + name,
                  page(select(profile), {.sort = sort, .top = 4}));
  }
}

TEST(Page, OfOneThreadAndAPartOfTheTime) {
  const profile::Profile profile = example();
  expect_golden("page_thread", page(select(profile, {.threads = {"101"}})));
  expect_golden("page_time", page(select(profile, {.from_s = 0.1, .to_s = 0.5})));
}

TEST(Page, FilesAndNotes) {
  const profile::Profile profile = example();
  expect_golden(
      "page_files",
      page(select(profile), {.top = 1,
                             .files = {{"out/recording.sampan", ""},
                                       {"out/profile_overall.pb.gz", "go tool pprof -http=: FILE"}},
                             .notes = {"libz.so.1: no such file"}}));
}

TEST(Page, ManyThreadsAreFolded) {
  std::string text = "# process 100 /bin/app\n";
  for (int i = 0; i < 50; ++i)
    text += fmt::format("# thread {} t{}\nmain {}\n", 100 + i, i, 50 - i);
  const profile::Profile profile = test::profile_of(text);
  expect_golden("page_many_threads", page(select(profile)));
}

TEST(Page, OfNothing) {
  profile::Profile profile = test::profile_of("");
  profile.session.command = {"/bin/static"};
  profile.end->note = "/bin/static is statically linked and was not sampled";
  expect_golden("page_nothing", page(select(profile)));
}

TEST(Page, OfADamagedRecording) {
  profile::Profile profile = example();
  profile.end.reset();
  profile.damage = {"block at byte 4711: checksum differs"};
  expect_golden("page_damaged", page(select(profile), {.top = 1}));
}

TEST(Page, ColourOnlyWhereAskedFor) {
  const profile::Profile profile = example();
  EXPECT_EQ(page(select(profile)).find('\033'), std::string::npos);
  EXPECT_NE(page(select(profile), {.colour = true}).find('\033'), std::string::npos);
}

}  // namespace
}  // namespace sampan::reports
