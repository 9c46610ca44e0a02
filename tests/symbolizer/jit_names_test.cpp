// Names of code generated at run time, from maps and dumps that the test writes.
#include "symbolizer/jit_names.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "profile/jit_code.h"
#include "profile/load.h"
#include "support.h"

namespace sampan::symbolizer::test {
namespace {

using profile::kNone;

// Two processes, with pids that do not exist. Both have code at 0x1000; the first also at 0x1010,
// the second at 0x5000.
constexpr int32_t kFirst = 5'000'071, kSecond = 5'000'072;

class Jit : public testing::Test {
 protected:
  Jit() {
    char host[256] = {};
    gethostname(host, sizeof host - 1);
    profile_.session.host = host;
    for (const int32_t pid : {kFirst, kSecond}) {
      const auto process = static_cast<uint32_t>(profile_.processes.size());
      profile_.processes.emplace_back().pid = pid;
      profile_.threads.emplace_back().process = process;
    }
    for (const uint64_t avma : {0x1000, 0x1010, 0x5000}) {
      profile_.locations.push_back({.module = kNone, .address = avma});
    }
    profile_.stacks = {{kNone, 0}, {0, 1}, {0, 2}};  // 0x1000 calls the others
    profile_.samples = {{0, 1, 0, 1, kNone, true}, {1, 1, 1, 2, kNone, true}};
    options_.jit_directories = {directory_ / ""};
  }

  // The functions of a sample's stack, leaf first.
  std::string stack(size_t sample) {
    std::string text;
    for (uint32_t i = profile_.samples[sample].stack; i != kNone; i = profile_.stacks[i].prefix) {
      text +=
          (text.empty() ? "" : "<") + lines_of(profile_, profile_.stacks[i].location)[0].function;
    }
    return text;
  }

  std::string map(int pid) { return directory_ / ("perf-" + std::to_string(pid) + ".map"); }
  std::string name(size_t location) {
    report_ = symbolize(profile_, options_);
    return lines_of(profile_, location).at(0).function;
  }

  TemporaryDirectory directory_;
  profile::Profile profile_;
  Options options_;
  Report report_;
};

TEST_F(Jit, UsesNamesOfTheRightProcess) {
  std::ofstream(map(kFirst)) << "1000 20 first\n5000 20 of another process\n";
  std::ofstream(map(kSecond)) << "0x5000 0x1 LazyCompile:*f x.js:3\n";
  EXPECT_EQ(name(0), "first");
  EXPECT_EQ(name(1), "first");
  EXPECT_EQ(name(2), "LazyCompile:*f x.js:3");
  EXPECT_TRUE(report_.problems.empty());
  EXPECT_EQ(stack(0), "first<first");
  EXPECT_EQ(stack(1), "LazyCompile:*f x.js:3<[jit]");  // 0x1000 of the second process
}

TEST_F(Jit, IsDemangledInFilesAndInTheRecording) {
  std::ofstream(map(kFirst)) << "1000 20 _ZN3jit5firstEi\n";
  const uint32_t recorded = profile_.strings.intern("_ZN3jit6secondEv");
  profile::name_jit_code({{0, 0, 0, recorded}, {1, 0, 0, recorded}}, &profile_);
  name(0);
  EXPECT_EQ(stack(0), "jit::first(int)<jit::first(int)");
  EXPECT_EQ(stack(1), "[jit]<jit::second()");
}

TEST_F(Jit, TakesTheLaterOfTwoNames) {
  std::ofstream(map(kFirst)) << "1000 20 first\n1010 1 second\n";
  EXPECT_EQ(name(1), "second");
}

TEST_F(Jit, CountsInvalidLines) {
  std::ofstream(map(kFirst)) << "hello\n\n1010 4\nffffffffffffffff 20 far\n1000 20 first\n1 "
                             << std::string(20000, 'x');
  EXPECT_EQ(name(1), "first");
  ASSERT_EQ(report_.problems.size(), 1u);
  EXPECT_NE(report_.problems[0].find("lines make no sense"), std::string::npos);
}

TEST_F(Jit, IgnoresOlderFilesAndThoseOfAnotherHost) {
  std::ofstream(map(kFirst)) << "1000 20 first\n";
  // written before the process began
  profile_.session.start_unix_ns = uint64_t{4'000'000'000} * 1'000'000'000;
  EXPECT_EQ(name(1), "[jit]");
  profile_.session.start_unix_ns = 0;
  profile_.session.host += "x";
  EXPECT_EQ(name(1), "[jit]");
}

TEST_F(Jit, IgnoresPipesAndLinks) {
  ASSERT_EQ(mkfifo(map(kFirst).c_str(), 0600), 0);
  EXPECT_EQ(name(1), "[jit]");
  std::filesystem::remove(map(kFirst));
  std::ofstream(directory_ / "other") << "1000 20 first\n";
  std::filesystem::create_symlink(directory_ / "other", map(kFirst));
  EXPECT_EQ(name(1), "[jit]");
}

TEST_F(Jit, ReadsAHugeMapUpToALimit) {
  std::ofstream(map(kFirst)) << "1000 20 first\n";
  std::filesystem::resize_file(map(kFirst), uint64_t{1} << 30);  // NULs: one line
  EXPECT_EQ(name(1), "first");
  EXPECT_FALSE(report_.problems.empty());
}

// A dump as runtimes write it: the code at 0x1000 is "early", and "late" from 5000 ns of the
// session on.
class JitDump : public Jit {
 protected:
  JitDump() {
    profile_.session.start_monotonic_ns = kStart;
    profile_.samples = {{1000, 1, 0, 0, kNone, true},
                        {4999, 1, 0, 1, kNone, true},
                        {5000, 1, 0, 1, kNone, true},
                        {9000, 1, 0, 0, kNone, true}};
  }

  template <typename... Values>
  static std::string bytes(Values... values) {
    std::string text;
    (text.append(reinterpret_cast<const char*>(&values), sizeof values), ...);
    return text;
  }
  static std::string header(int32_t pid, uint64_t flags = 0) {
    return bytes(0x4a695444u, 1u, 40u, 62u, 0u, pid, kStart, flags);
  }
  static std::string record(uint32_t kind, uint64_t time_ns, const std::string& content) {
    return bytes(kind, static_cast<uint32_t>(16 + content.size()), kStart + time_ns) + content;
  }
  static std::string load(uint64_t time_ns, uint64_t begin, uint64_t index, const char* name) {
    const std::string code(32, '\xc3');
    return record(0, time_ns,
                  bytes(kFirst, kFirst, begin, begin, uint64_t{32}, index) + name + '\0' + code);
  }
  static std::string move(uint64_t time_ns, uint64_t begin, uint64_t index) {
    return record(1, time_ns,
                  bytes(kFirst, kFirst, begin, uint64_t{1}, begin, uint64_t{32}, index));
  }
  std::string dump() const { return directory_ / fmt::format("jit-{}.dump", kFirst); }
  void write(const std::string& content) { std::ofstream(dump(), std::ios::binary) << content; }

  static constexpr uint64_t kStart = 77'000'000'000'000;
};

TEST_F(JitDump, NamesCodeByTime) {
  write(header(kFirst) + load(0, 0x1000, 1, "early") + record(2, 0, "not looked at") +
        load(5000, 0x1000, 2, "late"));
  EXPECT_EQ(name(0), "early");
  EXPECT_TRUE(report_.problems.empty());
  EXPECT_EQ(stack(0), "early");
  EXPECT_EQ(stack(1), "early<early");
  EXPECT_EQ(stack(2), "late<late");
  EXPECT_EQ(stack(3), "late");
  const size_t locations = profile_.locations.size(), stacks = profile_.stacks.size();
  name(0);
  EXPECT_EQ(stack(1), "early<early");
  EXPECT_EQ(stack(2), "late<late");
  EXPECT_EQ(profile_.locations.size(), locations);
  EXPECT_EQ(profile_.stacks.size(), stacks);
}

TEST_F(JitDump, FollowsCodeThatMoves) {
  write(header(kFirst) + load(0, 0x1000, 1, "early") + load(0, 0x9000, 2, "moved") +
        move(5000, 0x1000, 2));
  name(0);
  EXPECT_EQ(stack(1), "early<early");
  EXPECT_EQ(stack(2), "moved<moved");
}

TEST_F(JitDump, TakesPrecedenceOverAMap) {
  write(header(kFirst) + load(0, 0x1000, 1, "early"));
  std::ofstream(map(kFirst)) << "1000 8 of the map\n1010 8 of both\n";
  name(0);
  EXPECT_EQ(stack(1), "early<early");
  write(header(kFirst) + load(0, 0x1010, 1, "early"));
  name(0);
  EXPECT_EQ(stack(1), "early<of the map");
}

TEST_F(JitDump, WithAnotherClockIsReported) {
  write(header(kFirst, 1) + load(0, 0x1000, 1, "early") + load(5000, 0x1000, 2, "late"));
  name(0);
  EXPECT_EQ(stack(1), "late<late");
  ASSERT_EQ(report_.problems.size(), 1u);
  EXPECT_NE(report_.problems[0].find("CLOCK_MONOTONIC"), std::string::npos);
}

TEST_F(JitDump, OfAnotherProcessIsNotUsed) {
  write(header(kSecond) + load(0, 0x1000, 1, "early"));
  EXPECT_EQ(name(0), "[jit]");
  ASSERT_EQ(report_.problems.size(), 1u);
  EXPECT_TRUE(report_.problems[0].ends_with("another process wrote it"));
}

TEST_F(JitDump, MayBeCutOffAnywhere) {
  const std::string whole = header(kFirst) + load(0, 0x1000, 1, "early") + move(10, 0x5000, 1) +
                            load(5000, 0x1000, 2, "late");
  for (size_t size = 0; size < whole.size(); ++size) {
    write(whole.substr(0, size));
    name(0);
    EXPECT_TRUE(stack(0) == "early" || stack(0) == "[jit]") << size;
  }
}

TEST_F(JitDump, MayBeHugeAndEmpty) {
  write(header(kFirst) + load(0, 0x1000, 1, "early"));
  std::filesystem::resize_file(dump(), uint64_t{10} << 30);
  EXPECT_EQ(name(0), "early");
  ASSERT_EQ(report_.problems.size(), 1u);
  EXPECT_NE(report_.problems[0].find("a record has no size"), std::string::npos);
}

// Recorded names are used when the dump is gone.
TEST_F(JitDump, IsRecorded) {
  write(header(kFirst) + load(0, 0x1000, 1, "early") + load(5000, 0x1000, 2, "late"));
  name(0);
  const recording::Names names = names_to_record(profile_);
  profile_.locations.resize(3);
  for (profile::Location& location : profile_.locations) location.line_count = 0;
  profile_.stacks.resize(3);
  profile_.samples[2].stack = 1;
  profile_.samples[3].stack = 0;
  profile_.jit_names.clear();
  options_.jit_directories.clear();
  enter_names(names, &profile_);
  enter_jit_names(names, &profile_);
  name(0);
  EXPECT_EQ(stack(1), "early<early");
  EXPECT_EQ(stack(2), "late<late");
}

}  // namespace
}  // namespace sampan::symbolizer::test
