// Functions, inlined functions, files and lines from DWARF, compared with what the target reports
// about itself and with addr2line.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/address.h"
#include "support.h"
#include "target.h"

namespace sampan::symbolizer::test {
namespace {

// The names and lines of the call, from whatever file they are looked up in.
void expect_the_inlined_call(const std::string& path) {
  const target::Call call = target::inlined_call();
  const uint64_t avma = CodeAddress::return_address(call.return_avma).lookup_avma();
  profile::Profile profile = profile_of(path, {target_svma(avma)});
  const Report report = symbolize(profile);
  EXPECT_EQ(report.named, 1u);
  EXPECT_TRUE(report.problems.empty());
  const std::vector<Line> lines = lines_of(profile, 0);
  ASSERT_EQ(lines.size(), 3u);
  // For functions in anonymous namespaces clang writes linkage names and gcc does not.
  EXPECT_TRUE(lines[0].function.starts_with("target::(anonymous namespace)::Shape<double>::inner"))
      << lines[0].function;
  EXPECT_TRUE(lines[1].function.starts_with("target::(anonymous namespace)::middle"))
      << lines[1].function;
  EXPECT_EQ(lines[2].function, "target::inlined_call()");
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(lines[i].line, static_cast<uint32_t>(call.lines[i]));
    EXPECT_TRUE(lines[i].file.ends_with("tests/symbolizer/target.cpp")) << lines[i].file;
    EXPECT_TRUE(lines[i].file.starts_with("/")) << lines[i].file;
    EXPECT_EQ(lines[i].file.find("/../"), std::string::npos) << lines[i].file;
  }
}

TEST(Dwarf, KnowsTheInlinedFunctionsOfACall) {
  expect_the_inlined_call(target_path());
}

TEST(Dwarf, NamesLambdasByTheFunctionAroundThem) {
  const target::Call call = target::call_in_lambda();
  profile::Profile profile = profile_of(target_path(), {target_svma(call.return_avma) - 1});
  symbolize(profile);
  const std::vector<Line> lines = lines_of(profile, 0);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].line, static_cast<uint32_t>(call.lines[0]));
  const std::string& name = lines[0].function;
  const bool is_gccs = name == "target::call_in_lambda()::{lambda}::operator()";
  // clang numbers the lambdas of a file.
  const bool is_clangs =
      name.starts_with("target::call_in_lambda()::$_") && name.ends_with("::operator()() const");
  EXPECT_TRUE(is_gccs || is_clangs) << name;
}

// clang omits them.
TEST(Dwarf, WorksWithoutAranges) {
  const TemporaryDirectory directory;
  const std::string path = directory / "target.so";
  run("objcopy --remove-section .debug_aranges " + target_path() + " " + path);
  expect_the_inlined_call(path);
}

TEST(Dwarf, ReadsCompressedSections) {
  const TemporaryDirectory directory;
  const std::string path = directory / "target.so";
  run("objcopy --compress-debug-sections=zlib " + target_path() + " " + path);
  expect_the_inlined_call(path);
}

TEST(Dwarf, DoesNotInflateForAFewSamples) {
  const TemporaryDirectory directory;
  const std::string path = directory / "target.so";
  run("objcopy --compress-debug-sections=zlib " + target_path() + " " + path);
  const uint64_t svma = target_svma(reinterpret_cast<const void*>(&target::use_templates));
  for (const auto& [cpu_ns, has_line] :
       {std::pair{uint64_t{1000}, false}, std::pair{uint64_t{60'000'000'000}, true}}) {
    profile::Profile profile = profile_of(path, {svma});
    profile.samples.push_back({0, cpu_ns, 0, 0, profile::kNone, true});
    symbolize(profile);
    const std::vector<Line> lines = lines_of(profile, 0);
    ASSERT_FALSE(lines.empty());
    EXPECT_EQ(lines.back().function, "target::use_templates(int)");
    EXPECT_EQ(lines.back().line != 0, has_line);
  }
}

TEST(Dwarf, KnowsWhereAFunctionIsDefined) {
  const uint64_t svma = target_svma(reinterpret_cast<const void*>(&target_alias));
  profile::Profile profile = profile_of(target_path(), {svma});
  symbolize(profile);
  ASSERT_EQ(profile.functions.size(), 1u);
  const profile::Function& function = profile.functions[0];
  EXPECT_EQ(profile.strings[function.name], "target_alias");  // DWARF says __target_alias_impl
  EXPECT_TRUE(profile.strings[function.file].ends_with("target.cpp"));
  EXPECT_EQ(function.module, 0u);
  std::ifstream source(profile.strings[function.file]);
  std::string text;
  for (uint32_t line = 0; line < function.line; ++line) std::getline(source, text);
  EXPECT_NE(text.find("int __target_alias_impl(int value) {"), std::string::npos) << text;
}

struct Answer {
  std::vector<Line> lines;
};

// "0x1234", then a line with a function and a line with "file:line", innermost first.
std::vector<Answer> ask_addr2line(const std::string& path, const std::vector<uint64_t>& svmas) {
  const TemporaryDirectory directory;
  std::ofstream input(directory / "addresses");
  for (const uint64_t svma : svmas) input << std::hex << "0x" << svma << '\n';
  input.close();
  std::istringstream output(run("addr2line -afiC -e " + path + " < " + (directory / "addresses")));
  std::vector<Answer> answers;
  for (std::string text; std::getline(output, text);) {
    if (text.starts_with("0x")) {
      answers.emplace_back();
      continue;
    }
    Line line;
    line.function = text;
    std::getline(output, text);
    const size_t colon = text.rfind(':');
    line.file = std::filesystem::path(text.substr(0, colon)).lexically_normal();
    line.line = static_cast<uint32_t>(std::strtoul(text.c_str() + colon + 1, nullptr, 10));
    answers.back().lines.push_back(line);
  }
  return answers;
}

TEST(Dwarf, AgreesWithAddr2lineAtRandomAddresses) {
#ifdef __clang__
  GTEST_SKIP()
      << "addr2line leaves out calls that clang inlined; agreement_test.py asks llvm-symbolizer";
#endif
  const std::string path = target_path();
  const std::vector<uint64_t> svmas = addresses_in_text(path, 2000);
  profile::Profile profile = profile_of(path, svmas);
  symbolize(profile);
  const std::vector<Answer> answers = ask_addr2line(path, svmas);
  ASSERT_EQ(answers.size(), svmas.size());
  size_t with_inlines = 0, unnamed = 0, same_names = 0;
  for (size_t i = 0; i < svmas.size(); ++i) {
    const std::vector<Line> ours = lines_of(profile, i);
    const std::vector<Line>& theirs = answers[i].lines;
    if (theirs[0].function == "??" || theirs[0].line == 0) continue;  // start files, assembly
    if (ours.size() == 1 && ours[0].function.starts_with('[')) {      // padding behind a function
      ++unnamed;
      continue;
    }
    SCOPED_TRACE(testing::Message() << std::hex << svmas[i]);
    ASSERT_EQ(ours.size(), theirs.size());
    for (size_t k = 0; k < ours.size(); ++k) {
      // For a function without a linkage name, addr2line shows the symbol around it.
      if (ours[k].function.ends_with(')') && !ours[k].function.ends_with("::operator()")) {
        EXPECT_EQ(ours[k].function, theirs[k].function);
        ++same_names;
      }
      EXPECT_EQ(ours[k].file, theirs[k].file);
      EXPECT_EQ(ours[k].line, theirs[k].line);
    }
    with_inlines += ours.size() > 1;
  }
  EXPECT_GT(with_inlines, 500u);
  EXPECT_GT(same_names, 2000u);
  EXPECT_LT(unnamed, svmas.size() / 50);
}

}  // namespace
}  // namespace sampan::symbolizer::test
