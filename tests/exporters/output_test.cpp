// Files: complete or absent, and their names.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/error.h"
#include "exporters/exporter.h"
#include "exporters/output_file.h"
#include "exporters/thread_names.h"
#include "support/scratch_directory.h"
#include "support/text_markers.h"
#include "support/text_profile.h"

namespace sampan::exporters {
namespace {

using test::ScratchDirectory;

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(OutputFile, IsThereOnceCommitted) {
  const ScratchDirectory directory;
  const std::string path = directory.file("x");
  {
    OutputFile file(path);
    file.write("some ");
    file.write(std::string(1 << 20, 'x'));
    EXPECT_FALSE(std::filesystem::exists(path));
    file.commit();
  }
  EXPECT_EQ(contents(path), "some " + std::string(1 << 20, 'x'));
  EXPECT_EQ(directory.names(), std::vector<std::string>{"x"});
}

TEST(OutputFile, LeavesWhatWasThereWhenNotCommitted) {
  const ScratchDirectory directory;
  const std::string path = directory.file("x");
  std::ofstream(path) << "old";
  {
    OutputFile file(path);
    file.write(std::string(1 << 20, 'x'));
  }
  EXPECT_EQ(contents(path), "old");
  EXPECT_EQ(directory.names(), std::vector<std::string>{"x"});
}

TEST(OutputFile, GoesThroughALink) {
  const ScratchDirectory directory;
  std::ofstream(directory.file("x")) << "old";
  std::filesystem::create_symlink(directory.file("x"), directory.file("link"));
  OutputFile file(directory.file("link"));
  file.write("new");
  file.commit();
  EXPECT_EQ(contents(directory.file("x")), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(directory.file("link")));
}

TEST(OutputFile, WritesIntoAPipeDirectly) {
  const ScratchDirectory directory;
  const std::string path = directory.file("pipe");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::fstream reader(path, std::ios::in | std::ios::out);  // opening does not wait so
  OutputFile file(path);
  file.write("through\n");
  file.commit();
  std::string line;
  std::getline(reader, line);
  EXPECT_EQ(line, "through");
  EXPECT_TRUE(std::filesystem::is_fifo(path));
}

TEST(OutputFile, NamesTheFileThatCannotBeWritten) {
  try {
    OutputFile file("/nonexistent/x");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "writing /nonexistent/x: No such file or directory");
  }
  OutputFile full("/dev/full");
  full.write("x");
  EXPECT_THROW(full.commit(), Error);
}

TEST(GzipWriter, ComesBackWhole) {
  const ScratchDirectory directory;
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i * 7919);
  {
    OutputFile file(directory.file("x.gz"));
    GzipWriter gzip(file);
    for (size_t i = 0; i < text.size(); i += 1000) gzip.write(text.substr(i, 1000));
    gzip.finish();
    file.commit();
  }
  std::string back(text.size() + 1, '\0');
  const gzFile file = gzopen(directory.file("x.gz").c_str(), "rb");
  ASSERT_EQ(gzread(file, back.data(), static_cast<unsigned>(back.size())),
            static_cast<int>(text.size()));
  gzclose(file);
  back.pop_back();
  EXPECT_EQ(back, text);
}

TEST(ThreadNames, AreSafeInAFileName) {
  EXPECT_EQ(file_name_part("worker 1/2"), "worker_1_2");
  EXPECT_EQ(file_name_part("../../etc"), ".._.._etc");
  EXPECT_EQ(file_name_part("a\n\xc3\xa9-B.c_+"), "a___-B.c_+");
  EXPECT_EQ(file_name_part(""), "unnamed");
  EXPECT_EQ(file_name_part(std::string(100, 'x')).size(), 64u);
  profile::Thread thread;
  thread.tid = 1234;
  thread.name = "worker 1";
  EXPECT_EQ(thread_file_name(thread, format("pprof")), "profile_thread_1234_worker_1.pb.gz");
}

TEST(ThreadNames, TellThreadsApart) {
  const profile::Profile profile = test::profile_of(
      "# thread 100 app\nmain 1\n# thread 101 w\nmain 2\n# thread 102 w\nmain 1\n"
      "# thread 103 bad\xff\nmain 1\n");
  EXPECT_EQ(thread_labels(select(profile)),
            (std::vector<std::string>{"app", "w (101)", "w (102)", "bad\xef\xbf\xbd"}));
}

TEST(WriteAll, LeavesOneFilePerFormatAndThread) {
  const profile::Profile profile = test::profile_of(
      "# process 100 /bin/sh\n# thread 100 app\nmain 1\n# thread 101 idle\n"
      "# process 100 /bin/app\n# thread 100 app\nmain 2\n");
  const ScratchDirectory directory;
  const std::vector<const Format*> formats = {&format("trace"), &format("folded")};
  const std::vector<Written> written =
      write_all(select(profile), formats, directory.file("made/for/this"), {.per_thread = true});
  std::vector<std::string> names;
  for (const Written& file : written) {
    EXPECT_TRUE(std::filesystem::exists(file.path)) << file.path;
    names.push_back(std::filesystem::path(file.path).filename());
  }
  // An exec kept pid, tid and name, so a number has to tell the two threads' files apart.
  EXPECT_EQ(names, (std::vector<std::string>{"profile_trace.json", "profile_overall.folded",
                                             "profile_thread_100_app.folded",
                                             "profile_thread_100_app_2.folded"}));
  EXPECT_EQ(contents(written[2].path), "app;main 1\n");
  EXPECT_EQ(contents(written[3].path), "app;main 2\n");
}

TEST(WriteAll, HasFilesOfProcessesAndPools) {
  const profile::Profile profile = test::profile_of(
      "# process 100 /bin/a b\n# thread 100 w-1\nmain 1\n# thread 101 w-2\nmain 2\n"
      "# process 200 /bin/idle\n# thread 200 idle\n");
  const ScratchDirectory directory;
  const std::vector<const Format*> formats = {&format("trace"), &format("folded")};
  profile::Selection selection;
  selection.merge = profile::Merge::kPool;
  const std::vector<Written> written =
      write_all(select(profile, selection), formats, directory.file("x"),
                {.per_thread = true, .per_process = true});
  std::vector<std::string> names;
  for (const Written& file : written) {
    names.push_back(std::filesystem::path(file.path).filename());
    EXPECT_EQ(file.notes.size(), file.format->timeline ? 1u : 0u);  // its threads stay apart
  }
  EXPECT_EQ(names, (std::vector<std::string>{"profile_trace.json", "profile_overall.folded",
                                             "profile_process_100_a_b_trace.json",
                                             "profile_process_100_a_b.folded",
                                             "profile_thread_100_w.folded"}));
  EXPECT_EQ(contents(written[4].path), "w;main 3\n");
  EXPECT_NE(contents(written[0].path).find("w-2"), std::string::npos);
}

TEST(WriteAll, HasADirectoryForEachSection) {
  profile::Profile profile = test::profile_of("f 1\ng 1\n# thread 101 w\nh 3\n");
  test::add_markers(&profile,
                    "section 101 7 13 infer_1\nsection all 3 9 ../up\nsection all 1 2 short\n");
  const ScratchDirectory directory;
  const std::vector<const Format*> formats = {&format("html"), &format("trace"), &format("folded")};
  const std::vector<Written> written = write_all(select(profile), formats, directory.file("x"),
                                                 {.per_thread = true, .max_sections = 2});
  std::vector<std::string> of_sections;
  for (const Written& file : written) {
    EXPECT_TRUE(std::filesystem::exists(file.path)) << file.path;
    if (file.section_directory.empty()) continue;
    EXPECT_TRUE(file.path.starts_with(file.section_directory)) << file.path;
    of_sections.push_back(file.path.substr(directory.file("x").size()));
  }
  EXPECT_EQ(
      of_sections,
      (std::vector<std::string>{
          "/sections/%2E.%2Fup/profile_trace.json", "/sections/%2E.%2Fup/profile_overall.folded",
          "/sections/%2E.%2Fup/profile_thread_100_app.folded",
          "/sections/%2E.%2Fup/profile_thread_101_w.folded", "/sections/infer_1/profile_trace.json",
          "/sections/infer_1/profile_overall.folded",
          "/sections/infer_1/profile_thread_101_w.folded"}));
  const std::string sections = directory.file("x") + "/sections/";
  EXPECT_EQ(contents(sections + "%2E.%2Fup/profile_overall.folded"), "app;f 1\napp;g 1\nw;h 2\n");
  EXPECT_EQ(contents(sections + "infer_1/profile_overall.folded"), "w;h 2\n");
  ASSERT_FALSE(written.back().notes.empty());
  EXPECT_EQ(written.back().notes.back(),
            "the 2 longest of 3 sections have a directory: --max-sections is how many");
  for (const Written& file : write_all(select(profile, {.section = "short"}), formats,
                                       directory.file("y"), {.max_sections = 9})) {
    EXPECT_TRUE(file.section_directory.empty()) << file.path;
  }
}

TEST(WriteAll, StopsWhereSectionsWouldBeMuchMoreThanTheRun) {
  profile::Profile profile = test::profile_of("f 100000\n");
  std::string markers;
  for (int i = 0; i < 9; ++i) markers += fmt::format("section all 0 {} s{}\n", 500'000 - i, i);
  test::add_markers(&profile, markers);
  const ScratchDirectory directory;
  const std::vector<const Format*> formats = {&format("folded")};
  const std::vector<Written> written =
      write_all(select(profile), formats, directory.file("x"), {.max_sections = 50});
  EXPECT_EQ(written.size(), 1u + 4);
  EXPECT_EQ(written.back().notes.back(),
            "the 4 longest of 9 sections have a directory: they overlap, and all would be too "
            "large. --section writes one");
}

TEST(WriteAll, HasNoSingleThreadsOfSectionsWithVeryMany) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += fmt::format("# thread {} t\nf 2\n", 100 + i);
  profile::Profile profile = test::profile_of(text);
  test::add_markers(&profile, "section all 0 9 all\nsection 110 0 9 one\n");
  const ScratchDirectory directory;
  const std::vector<const Format*> formats = {&format("folded")};
  const std::vector<Written> written = write_all(select(profile), formats, directory.file("x"),
                                                 {.per_thread = true, .max_sections = 50});
  EXPECT_EQ(written.size(), 61u + 1 + 2);
  EXPECT_EQ(written.back().notes.back(),
            "1 of the sections have more than 50 threads, and no files of single ones");
}

TEST(WriteAll, BundlesHaveSectionsToo) {
  profile::Profile profile = test::profile_of("f 1\n");
  test::add_markers(&profile, "section all 1 9 infer_1\n");
  const ScratchDirectory directory;
  const std::vector<const Format*> formats = {&format("folded")};
  const std::vector<Written> written =
      write_bundle(select(profile), formats, directory.file("x.tar.gz"), {.max_sections = 2});
  ASSERT_EQ(written.size(), 2u);
  EXPECT_EQ(written[1].path, "profile/sections/infer_1/profile_overall.folded");
}

// A name in CJK, percent-encoded, and one of letters: in old archives a member's path has 100 bytes.
TEST(WriteAll, BundlesTakeLongSectionNames) {
  profile::Profile profile = test::profile_of("f 1\n");
  std::string cjk;
  for (int i = 0; i < 12; ++i) cjk += "推";
  const std::string letters(62, 'x');
  test::add_markers(&profile,
                    fmt::format("section all 1 9 {}\nsection all 1 9 {}\n", cjk, letters));
  const ScratchDirectory directory;
  const std::vector<const Format*> formats = {&format("folded")};
  const std::string bundle = directory.file("x.tar.gz");
  const std::vector<Written> written =
      write_bundle(select(profile), formats, bundle, {.max_sections = 4});
  ASSERT_EQ(written.size(), 3u);
  ASSERT_GT(written[1].path.size(), 100u);
  std::string members, expected;
  for (const Written& file : written) expected += file.path + "\n";
  FILE* const tar = ::popen(("tar tzf " + bundle).c_str(), "r");
  ASSERT_NE(tar, nullptr);
  for (int c; (c = std::fgetc(tar)) != EOF;) members += static_cast<char>(c);
  EXPECT_EQ(::pclose(tar), 0);
  EXPECT_EQ(members, expected);
}

TEST(OutputFile, IsGoneWhenInterrupted) {
  const ScratchDirectory directory;
  EXPECT_EXIT(
      {
        OutputFile file(directory.file("x"));
        file.write(std::string(1 << 20, 'x'));
        interrupt_writing();
        try {
          file.commit();
        } catch (const Error& error) {
          std::fputs(error.what(), stderr);
          file.~OutputFile();
          std::_Exit(7);
        }
      },
      testing::ExitedWithCode(7), "writing .*x: interrupted, nothing of it is left");
  EXPECT_TRUE(std::filesystem::is_empty(std::filesystem::path(directory.file("x")).parent_path()));
}

TEST(Formats, SuggestTheNearest) {
  EXPECT_EQ(format("pstats").suffix, ".prof");
  try {
    format("pporf");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'pprof'?"), std::string::npos);
  }
}

}  // namespace
}  // namespace sampan::exporters
