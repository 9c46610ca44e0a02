// The sources and instructions of an annotated function.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support.h"
#include "symbolizer/function_code.h"
#include "target.h"

namespace sampan::symbolizer::test {
namespace {

uint64_t function() {
  return target_svma(reinterpret_cast<const void*>(&target::use_templates));
}

// An annotated function: the first of the addresses is in it.
struct Annotated {
  explicit Annotated(const std::vector<uint64_t>& svmas, const std::string& path = target_path())
      : profile(profile_of(path, svmas)) {
    symbolize(profile);
    annotation.function.function = profile.lines.at(profile.locations[0].first_line).function;
    for (const uint64_t svma : svmas) {
      annotation.addresses.push_back({0, svma, {10, 1}, {10, 1}});
    }
  }
  profile::Profile profile;
  profile::Annotation annotation;
  std::vector<std::string> notes;
};

TEST(FunctionCode, HasTheWholeFunctionOnceWithItsWeights) {
  Annotated annotated({function(), function()});
  const auto rows = find_instructions(annotated.profile, annotated.annotation, &annotated.notes);
  ASSERT_GT(rows.size(), 2u);
  EXPECT_EQ(rows[0].address, function());
  EXPECT_EQ(rows[0].self.ns, 20u);
  EXPECT_NE(rows[0].line, 0u);
  uint64_t others_ns = 0;
  for (size_t i = 1; i < rows.size(); ++i) {
    EXPECT_GT(rows[i].address, rows[i - 1].address);
    others_ns += rows[i].self.ns;
  }
  EXPECT_EQ(others_ns, 0u);
  EXPECT_TRUE(annotated.notes.empty());
}

// The lookup address of a call is the last byte of its instruction.
TEST(FunctionCode, PutsAnAddressOnTheInstructionAroundIt) {
  Annotated whole({function()});
  const auto rows = find_instructions(whole.profile, whole.annotation, &whole.notes);
  for (size_t i = 1; i < rows.size(); ++i) {
    Annotated annotated({rows[i].address - 1});
    const auto found = find_instructions(annotated.profile, annotated.annotation, &annotated.notes);
    ASSERT_EQ(found.size(), rows.size());
    EXPECT_EQ(found[i - 1].self.ns, 10u) << found[i - 1].text;
  }
}

TEST(FunctionCode, NotesOnceWhyThereAreNoInstructions) {
  Annotated gone({1, 2}, "/nowhere/libgone.so");
  EXPECT_TRUE(find_instructions(gone.profile, gone.annotation, &gone.notes).empty());
  EXPECT_EQ(gone.notes,
            std::vector<std::string>{"no instructions: /nowhere/libgone.so: file not found"});
  Annotated made({function()});
  made.annotation.addresses = {{profile::kNone, 1, {}, {}}, {profile::kNone, 2, {}, {}}};
  EXPECT_TRUE(find_instructions(made.profile, made.annotation, &made.notes).empty());
  EXPECT_EQ(made.notes.size(), 1u);
}

TEST(SourceFiles, AreFoundByMappingsElseWhereBuilt) {
  const TemporaryDirectory directory;
  const std::string built = directory / "build", now = directory / "now";
  for (const std::string& place : {built, now}) {
    std::filesystem::create_directory(place);
    std::ofstream(place + "/a.c") << "int a;\n";
  }
  EXPECT_EQ(find_source(built + "/a.c", {}), built + "/a.c");
  EXPECT_EQ(find_source(built + "/a.c", {{built, now}}), now + "/a.c");
  EXPECT_EQ(find_source(built + "/a.c", {{built + "/", now}}), now + "/a.c");
  EXPECT_EQ(find_source(built + "/a.c", {{built, directory / "no"}}), built + "/a.c");
  EXPECT_EQ(find_source(built + "s/a.c", {{built, now}}), std::nullopt) << "another directory";
  EXPECT_EQ(find_source(built + "/b.c", {{built, now}}), std::nullopt);
  EXPECT_EQ(find_source("", {{"", now}}), std::nullopt);
}

TEST(SourceFiles, StartWithTheFunctionsOwn) {
  const TemporaryDirectory directory;
  const std::string header = directory / "a.h", source = directory / "a.c";
  std::ofstream(header) << "h1\r\nh2\n";
  std::ofstream(source) << "c1\n";
  profile::Profile profile;
  profile::Annotation annotation;
  annotation.function.file = profile.strings.intern(source);
  const auto add_line = [&](uint32_t file, uint32_t line) {
    profile::FlatRow& row = annotation.lines.emplace_back();
    row.file = file;
    row.line = line;
  };
  add_line(profile.strings.intern(header), 1);
  add_line(profile.strings.intern(header), 2);
  add_line(annotation.function.file, 1);
  add_line(profile.strings.intern("/nowhere/b.h"), 7);
  std::vector<std::string> notes;
  const std::vector<profile::Source> sources = find_sources(profile, annotation, {}, &notes);
  ASSERT_EQ(sources.size(), 3u);
  EXPECT_EQ(sources[0].path, source);
  EXPECT_EQ(sources[1].lines, (std::vector<std::string>{"h1", "h2"}));
  EXPECT_EQ(sources[2].path, "");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_TRUE(notes[0].starts_with("the source /nowhere/b.h is not there")) << notes[0];
}

}  // namespace
}  // namespace sampan::symbolizer::test
