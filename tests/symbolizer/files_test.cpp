// The file that names come from: the module, separate debug files, symbol tables, none.
#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include <filesystem>
#include <sstream>

#include "support.h"
#include "target.h"

namespace sampan::symbolizer::test {
namespace {

namespace fs = std::filesystem;

uint64_t exported() {
  return target_svma(reinterpret_cast<const void*>(&target::use_templates));
}

// In a function that only .symtab knows.
uint64_t not_exported() {
  return target_svma(target::inlined_call().return_avma) - 1;
}

Line innermost(const std::string& path, uint64_t svma, const Options& options = {},
               const std::vector<uint8_t>& build_id = {}) {
  profile::Profile profile = profile_of(path, {svma}, build_id);
  symbolize(profile, options);
  const std::vector<Line> lines = lines_of(profile, 0);
  return lines.empty() ? Line{} : lines.front();
}

bool has_source(const Line& line) {
  return line.file.ends_with("target.cpp") && line.line != 0;
}

class SeparateFiles : public testing::Test {
 protected:
  SeparateFiles() {
    run("objcopy --only-keep-debug " + target_path() + " " + debug_);
    run("objcopy --strip-all " + target_path() + " " + stripped_);
  }
  void link(const std::string& debug_file) {
    run("objcopy --add-gnu-debuglink=" + debug_file + " " + stripped_);
  }

  TemporaryDirectory directory_;
  std::string stripped_ = directory_ / "target.so";
  std::string debug_ = directory_ / "target.debug";
};

TEST_F(SeparateFiles, AreFoundByBuildId) {
  const std::vector<uint8_t> id = build_id_of(target_path());
  ASSERT_FALSE(id.empty());
  std::string name = "debug/.build-id/" + fmt::format("{:02x}/", id[0]);
  fs::create_directories(directory_ / name);
  for (size_t i = 1; i < id.size(); ++i) name += fmt::format("{:02x}", id[i]);
  fs::rename(debug_, directory_ / (name + ".debug"));
  Options options;
  EXPECT_FALSE(has_source(innermost(stripped_, not_exported(), options)));
  options.debug_directories = {directory_ / "debug"};
  EXPECT_TRUE(has_source(innermost(stripped_, not_exported(), options)));
  // Even if the module itself is gone, or replaced.
  EXPECT_TRUE(has_source(innermost(directory_ / "gone.so", not_exported(), options, id)));
  EXPECT_TRUE(has_source(innermost("/bin/true", not_exported(), options, id)));
}

TEST_F(SeparateFiles, AreFoundByDebugLinkBesideTheModule) {
  link(debug_);
  EXPECT_TRUE(has_source(innermost(stripped_, not_exported())));
}

TEST_F(SeparateFiles, AreFoundByDebugLinkInItsDebugDirectory) {
  link(debug_);
  fs::create_directory(directory_ / ".debug");
  fs::rename(debug_, directory_ / ".debug/target.debug");
  EXPECT_TRUE(has_source(innermost(stripped_, not_exported())));
}

TEST_F(SeparateFiles, AreFoundByDebugLinkInTheGlobalDirectory) {
  link(debug_);
  const std::string place = (directory_ / "global") + fs::path(stripped_).parent_path().string();
  fs::create_directories(place);
  fs::rename(debug_, place + "/target.debug");
  Options options;
  options.debug_directories = {directory_ / "global"};
  EXPECT_TRUE(has_source(innermost(stripped_, not_exported(), options)));
}

// Without build-ids, the checksum in the module decides.
TEST_F(SeparateFiles, AreNotUsedWithAnotherChecksum) {
  for (const std::string& file : {stripped_, debug_}) {
    run("objcopy --remove-section .note.gnu.build-id " + file);
  }
  link(debug_);
  EXPECT_TRUE(has_source(innermost(stripped_, not_exported())));
  run("objcopy --remove-section .comment --add-section other=/bin/true " + debug_);
  EXPECT_FALSE(has_source(innermost(stripped_, not_exported())));
}

// The pipe has no writer, and the file is too large to read.
TEST_F(SeparateFiles, CannotBlockOrBeHuge) {
  link(debug_);
  fs::remove(debug_);
  ASSERT_EQ(mkfifo(debug_.c_str(), 0600), 0);
  EXPECT_FALSE(has_source(innermost(stripped_, not_exported())));
  fs::remove(debug_);
  run("objcopy --only-keep-debug --remove-section .note.gnu.build-id " + target_path() + " " +
      debug_);
  run("objcopy --remove-section .note.gnu.build-id " + stripped_);
  fs::resize_file(debug_, uint64_t{1} << 40);  // its checksum would take longer than a test may
  EXPECT_FALSE(has_source(innermost(stripped_, not_exported())));
}

TEST_F(SeparateFiles, AreNotUsedWithAnotherBuildId) {
  run("objcopy --only-keep-debug /proc/self/exe " + debug_);
  link(debug_);
  EXPECT_FALSE(has_source(innermost(stripped_, not_exported())));
}

// A module that ran in another root, as /opt/target.so; here that is another file, or none.
class Sysroot : public SeparateFiles {
 protected:
  Sysroot() {
    options_.sysroot = directory_ / "root";
    fs::create_directories(inner_.parent_path());
    fs::create_directories(fs::path(path_).parent_path());
  }

  const std::string path_ = directory_ / "opt/target.so";
  const fs::path inner_ = (directory_ / "root") + path_;
  const std::vector<uint8_t> id_ = build_id_of(target_path());
  Options options_;
};

TEST_F(Sysroot, HasTheModule) {
  EXPECT_FALSE(has_source(innermost(path_, not_exported(), options_, id_)));
  fs::copy(target_path(), inner_);
  EXPECT_TRUE(has_source(innermost(path_, not_exported(), options_, id_)));
  fs::copy("/bin/true", path_);
  EXPECT_TRUE(has_source(innermost(path_, not_exported(), options_, id_)));
  EXPECT_TRUE(has_source(innermost(path_, not_exported(), options_)));
}

TEST_F(Sysroot, HasItByALinkOfItsOwn) {
  fs::create_directories(directory_ / "root/elsewhere");
  fs::copy(target_path(), directory_ / "root/elsewhere/target.so");
  fs::create_symlink("/elsewhere/target.so", inner_);
  EXPECT_TRUE(has_source(innermost(path_, not_exported(), options_, id_)));
}

TEST_F(Sysroot, IsNotBelievedAgainstTheBuildId) {
  fs::copy("/bin/true", inner_);
  EXPECT_FALSE(has_source(innermost(path_, not_exported(), options_, id_)));
  fs::copy(target_path(), path_);
  EXPECT_TRUE(has_source(innermost(path_, not_exported(), options_, id_))) << "ours is the file";
}

TEST_F(Sysroot, WithoutABuildIdOursIsNotTakenInstead) {
  fs::copy(target_path(), path_);
  run("objcopy --remove-section .note.gnu.build-id " + path_);
  EXPECT_TRUE(has_source(innermost(path_, not_exported())));
  EXPECT_FALSE(has_source(innermost(path_, not_exported(), options_)));
}

TEST_F(Sysroot, HasDebugFiles) {
  link(debug_);
  fs::copy(stripped_, inner_);
  const std::string place =
      (directory_ / "root/usr/lib/debug") + fs::path(path_).parent_path().string();
  fs::create_directories(place);
  fs::rename(debug_, place + "/target.debug");
  EXPECT_TRUE(has_source(innermost(path_, not_exported(), options_, id_)));
  fs::rename(place + "/target.debug", inner_.parent_path() / "target.debug");
  EXPECT_TRUE(has_source(innermost(path_, not_exported(), options_, id_)));
}

TEST_F(Sysroot, TheMessageNamesTheFile) {
  profile::Profile profile = profile_of(path_, {not_exported()}, id_);
  const Report report = symbolize(profile, options_);
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_NE(report.problems[0].find(inner_.string() + ": file not found"), std::string::npos)
      << report.problems[0];
}

// All that tells a file without a build-id from another one.
TEST(WithoutABuildId, AFileThatIsLoadedDifferentlyIsNotUsed) {
  const TemporaryDirectory directory;
  const std::string path = directory / "target.so";
  run("objcopy --remove-section .note.gnu.build-id " + target_path() + " " + path);
  profile::Profile profile = profile_of(path, {not_exported()});
  // Type, offset, SVMA, physical address, size in the file, size in memory.
  std::istringstream segments(run("readelf -lW " + path + " | grep '^ *LOAD'"));
  std::string type, offset, svma, physical, in_file, in_memory;
  for (std::string rest; segments >> type >> offset >> svma >> physical >> in_file >> in_memory;
       std::getline(segments, rest)) {
    const uint64_t end = std::stoull(svma, nullptr, 16) + std::stoull(in_memory, nullptr, 16);
    profile.modules[0].svma_end = (end + 4095) / 4096 * 4096;
  }
  profile::Profile other = profile;
  EXPECT_TRUE(symbolize(profile).problems.empty());
  EXPECT_TRUE(has_source(lines_of(profile, 0).front()));
  other.modules[0].svma_end += 4096;
  EXPECT_EQ(symbolize(other).problems.size(), 1u);
  EXPECT_FALSE(has_source(lines_of(other, 0).front()));
}

TEST(SymbolTables, NameFunctionsWithoutDebugInformation) {
  const TemporaryDirectory directory;
  const std::string path = directory / "target.so";
  run("objcopy --strip-debug " + target_path() + " " + path);
  EXPECT_EQ(name_at(path, exported()), "target::use_templates(int)");
  EXPECT_EQ(name_at(path, not_exported()), "target::inlined_call()");
}

TEST(SymbolTables, NameExportedFunctionsOfStrippedFiles) {
  const TemporaryDirectory directory;
  const std::string path = directory / "target.so";
  run("objcopy --strip-all " + target_path() + " " + path);
  EXPECT_EQ(name_at(path, exported()), "target::use_templates(int)");
}

TEST(SymbolTables, PreferTheNameUsedInSources) {
  const TemporaryDirectory directory;
  const std::string path = directory / "target.so";
  run("objcopy --strip-all " + target_path() + " " + path);
  EXPECT_EQ(name_at(path, target_svma(reinterpret_cast<const void*>(&target_alias))),
            "target_alias");
}

TEST(SymbolTables, KnowSymbolsWithAndWithoutSize) {
  const uint64_t sized = target_svma(reinterpret_cast<const void*>(&target_asm_sized));
  const uint64_t unsized = target_svma(reinterpret_cast<const void*>(&target_asm_without_size));
  EXPECT_EQ(name_at(target_path(), sized), "target_asm_sized");
  EXPECT_EQ(name_at(target_path(), sized + 2), "target_asm_sized");  // after a label within it
  EXPECT_EQ(name_at(target_path(), sized + 3),
            fmt::format("[{}+{:#x}]", fs::path(target_path()).filename().string(),
                        sized + 3));  // between the two functions
  EXPECT_EQ(name_at(target_path(), unsized), "target_asm_without_size");
  EXPECT_EQ(name_at(target_path(), unsized + 2), "target_asm_without_size");
}

TEST(SymbolTables, NameStubsOfThePlt) {
  // objdump prints their names: "0000000000001040 <memcpy@plt>:".
  std::istringstream stubs(run("objdump -d -C " + target_path() + " | grep '@plt>:$'"));
  size_t count = 0;
  for (std::string text; std::getline(stubs, text); ++count) {
    const uint64_t svma = std::strtoull(text.c_str(), nullptr, 16);
    const size_t begin = text.find('<') + 1;
    EXPECT_EQ(name_at(target_path(), svma + 2), text.substr(begin, text.size() - 2 - begin));
  }
  EXPECT_GT(count, 3u);
}

// All addresses of a function without a name have one name, its begin in .eh_frame.
TEST(SymbolTables, NameOtherFunctionsByTheirStart) {
  const TemporaryDirectory directory;
  const std::string path = directory / "target.so";
  run("objcopy --strip-all " + target_path() + " " + path);
  // return_address() is the only local function that the target calls.
  const std::string table = run("nm " + target_path() + " | grep return_address");
  const uint64_t start = std::strtoull(table.c_str(), nullptr, 16);
  ASSERT_NE(start, 0u);
  const std::string expected = fmt::format("[target.so+{:#x}]", start);
  EXPECT_EQ(name_at(path, start), expected);
  EXPECT_EQ(name_at(path, start + 3), expected);
}

TEST(Module, ThatWasReplacedIsNotUsed) {
  std::vector<uint8_t> id = build_id_of(target_path());
  id[0] ^= 1;
  profile::Profile profile = profile_of(target_path(), {exported()}, id);
  const Report report = symbolize(profile);
  EXPECT_EQ(report.named, 0u);
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_TRUE(
      report.problems[0].starts_with(target_path() + ": another file than the one that ran"))
      << report.problems[0];
  EXPECT_EQ(lines_of(profile, 0).front().function,
            fmt::format("[{}+{:#x}]", fs::path(target_path()).filename().string(), exported()));
}

TEST(Module, ThatIsMissingIsReportedAndAffectsNoOther) {
  profile::Profile profile = profile_of("/nowhere/libgone.so", {0x1234});
  profile.modules.push_back({target_path(), {}, 0, 0});
  profile.locations.push_back({1, exported(), 0, 0});
  profile.locations.push_back({profile::kNone, 0x7f00, 0, 0});
  profile.modules.push_back({"/dev/zero", {}, 0, 0});
  profile.locations.push_back({2, 0x10, 0, 0});
  const Report report = symbolize(profile);
  EXPECT_EQ(report.locations, 4u);
  EXPECT_EQ(report.named, 1u);
  EXPECT_EQ(report.problems, (std::vector<std::string>{"/nowhere/libgone.so: file not found",
                                                       "/dev/zero: not a regular file"}));
  EXPECT_EQ(lines_of(profile, 0), (std::vector<Line>{{"[libgone.so+0x1234]", "", 0}}));
  EXPECT_EQ(lines_of(profile, 1).back().function, "target::use_templates(int)");
  EXPECT_EQ(lines_of(profile, 2), (std::vector<Line>{{"[jit]", "", 0}}));
  EXPECT_EQ(lines_of(profile, 3), (std::vector<Line>{{"[zero+0x10]", "", 0}}));
}

TEST(Module, VdsoIsReadFromThisProcess) {
  void* vdso = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (vdso == nullptr) GTEST_SKIP() << "the loader does not hand out the vdso";
  const auto expect = [&](const char* symbol, const char* name) {
    const auto function = reinterpret_cast<uint64_t>(dlsym(vdso, symbol));
    if (function == 0) return false;
    EXPECT_EQ(name_at("[vdso]", function - getauxval(AT_SYSINFO_EHDR)), name);
    return true;
  };
  EXPECT_TRUE(expect("__vdso_clock_gettime", "clock_gettime") ||  // x86-64
              expect("__kernel_clock_gettime", "__kernel_clock_gettime"));
}

TEST(Symbolize, IsIdempotentAndTheSameInParallel) {
  const std::string self = fs::canonical("/proc/self/exe");
  profile::Profile profile = profile_of(self, addresses_in_text(self, 2000));
  profile.modules.push_back({target_path(), {}, 0, 0});
  for (const uint64_t svma : addresses_in_text(target_path(), 500)) {
    profile.locations.push_back({1, svma, 0, 0});
  }
  Options options;
  options.jobs = 1;
  symbolize(profile, options);
  const std::string first = text_of(profile);
  const size_t functions = profile.functions.size(), lines = profile.lines.size();
  options.jobs = 4;
  const Report report = symbolize(profile, options);
  EXPECT_EQ(text_of(profile), first);
  EXPECT_EQ(profile.functions.size(), functions);
  EXPECT_EQ(profile.lines.size(), lines);
  EXPECT_GT(report.named, 2000u);
}

}  // namespace
}  // namespace sampan::symbolizer::test
