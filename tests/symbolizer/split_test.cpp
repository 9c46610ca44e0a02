// Parts and clones of functions, named from their symbols and from debug information.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "support.h"

namespace sampan::symbolizer::test {
namespace {

std::string split_path() {
  return std::filesystem::path(target_path()).parent_path() / "libsymbolizer_split.so";
}

// Addresses and symbols of what is not exported: with gcc, parts and clones, as "split_checked.cold".
std::vector<std::pair<uint64_t, std::string>> local_symbols() {
  std::istringstream table(run("nm " + split_path() + " | grep ' t split_'"));
  std::vector<std::pair<uint64_t, std::string>> result;
  for (std::string address, type, name; table >> address >> type >> name;) {
    result.emplace_back(std::strtoull(address.c_str(), nullptr, 16), name);
  }
  return result;
}

TEST(SplitFunctions, BelongToTheirFunctionWithDebugInformationAndWithout) {
  const TemporaryDirectory directory;
  const std::string without = directory / "split.so";
  run("objcopy --strip-debug " + split_path() + " " + without);
  const auto symbols = local_symbols();
  if (run("readelf -p .comment " + split_path()).find("clang") != std::string::npos) {
    GTEST_SKIP() << "clang splits and copies no functions";
  }
  ASSERT_GE(symbols.size(), 2u);  // at least one part and one clone
  for (const auto& [svma, symbol] : symbols) {
    const std::string function = symbol.substr(0, symbol.find('.'));
    EXPECT_EQ(name_at(split_path(), svma), function) << symbol;
    EXPECT_EQ(name_at(without, svma), function) << symbol;
  }
}

// Files without .symtab have the rest of the symbols in .gnu_debugdata.
TEST(MiniDebugInfo, NamesFunctionsThatAreNotExported) {
  const TemporaryDirectory directory;
  const std::string stripped = directory / "split.so", mini = directory / "mini";
  const auto [svma, symbol] = local_symbols().front();
  const std::string function = symbol.substr(0, symbol.find('.'));
  run("objcopy --strip-all " + split_path() + " " + stripped);
  EXPECT_TRUE(name_at(stripped, svma).starts_with("[split.so+"));
  run("objcopy --only-keep-debug --strip-debug " + split_path() + " " + mini);
  run("objcopy --only-keep-debug --keep-symbol=" + symbol + " " + mini);
  run("xz " + mini);
  run("objcopy --add-section .gnu_debugdata=" + mini + ".xz " + stripped);
  EXPECT_EQ(name_at(stripped, svma), function);
}

TEST(MiniDebugInfo, ThatIsDamagedOrTooLargeIsReported) {
  const TemporaryDirectory directory;
  const std::string stripped = directory / "split.so", noise = directory / "noise";
  const uint64_t svma = local_symbols().front().first;
  const auto problem_with = [&](const std::string& content) {
    run("objcopy --strip-all " + split_path() + " " + stripped);
    run("objcopy --add-section .gnu_debugdata=" + content + " " + stripped);
    profile::Profile profile = profile_of(stripped, {svma});
    const Report report = symbolize(profile);
    return report.problems.empty() ? "" : report.problems[0];
  };
  run("head -c 1000 /dev/urandom > " + noise);
  EXPECT_TRUE(problem_with(noise).ends_with(".gnu_debugdata cannot be decompressed"));
  run("truncate -s 200M " + noise + " && xz -0 -T1 " + noise);
  EXPECT_TRUE(problem_with(noise + ".xz").ends_with(".gnu_debugdata is larger than 64 MB"));
}

}  // namespace
}  // namespace sampan::symbolizer::test
