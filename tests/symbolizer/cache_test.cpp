// The cache of names: used for the same build-id, and for nothing else.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "support.h"
#include "symbolizer/name_cache.h"

namespace sampan::symbolizer::test {
namespace {

namespace fs = std::filesystem;

class Cache : public testing::Test {
 protected:
  Cache() : svmas_(addresses_in_text(target_path(), 300)), build_id_(build_id_of(target_path())) {
    options_.cache_directory = directory_ / "cache";
  }

  // The names of the addresses. `path` need not exist: the build-id decides.
  std::string symbolized(const std::string& path, const std::vector<uint8_t>& build_id) {
    profile::Profile profile = profile_of(path, svmas_, build_id);
    report_ = symbolize(profile, options_);
    return text_of(profile);
  }
  std::string symbolized() { return symbolized(target_path(), build_id_); }

  std::string only_file() const {
    const std::vector<fs::path> files(fs::directory_iterator(options_.cache_directory), {});
    EXPECT_EQ(files.size(), 1u);
    return files.empty() ? "" : files[0].string();
  }

  TemporaryDirectory directory_;
  std::vector<uint64_t> svmas_;
  std::vector<uint8_t> build_id_;
  Options options_;
  Report report_;
};

TEST_F(Cache, ReturnsNamesFoundBefore) {
  const std::string cold = symbolized();
  EXPECT_EQ(symbolized(), cold);
  // Code without a name is called by its place, which needs the file.
  const std::string without_file = symbolized("/nowhere/target.so", build_id_);
  const auto lines = std::ranges::count(cold, '\n');
  EXPECT_GT(std::ranges::count(without_file, '\n'), lines * 9 / 10);
  EXPECT_NE(without_file.find("target::"), std::string::npos);
}

TEST_F(Cache, KeepsTheAddressesOfSeveralRuns) {
  const std::vector<uint64_t> all = svmas_;
  svmas_.assign(all.begin(), all.begin() + 150);
  symbolized();
  svmas_.assign(all.begin() + 100, all.end());
  symbolized();
  svmas_ = all;
  options_.cache_directory.clear();
  const std::string cold = symbolized();
  options_.cache_directory = directory_ / "cache";
  EXPECT_EQ(symbolized(), cold);
  const auto size = fs::file_size(only_file());
  symbolized();
  EXPECT_EQ(fs::file_size(only_file()), size);  // nothing new, nothing written
}

TEST_F(Cache, IsNotUsedForAnotherBuildId) {
  symbolized();
  std::vector<uint8_t> other = build_id_;
  other.back() ^= 1;
  EXPECT_EQ(symbolized("/nowhere/target.so", other).find("target::"), std::string::npos);
  // Not even when the file is in the other's place.
  const std::string file = only_file();
  const std::string name = fmt::format("{:02x}", fmt::join(other, ""));
  fs::copy_file(file, fs::path(file).parent_path() / name);
  EXPECT_EQ(symbolized("/nowhere/target.so", other).find("target::"), std::string::npos);
}

TEST_F(Cache, IsIgnoredWhenDamaged) {
  const std::string cold = symbolized();
  const std::string path = only_file();
  std::ifstream file(path, std::ios::binary);
  const std::string whole(std::istreambuf_iterator<char>(file), {});
  for (size_t place = 0; place < whole.size(); place += whole.size() / 40 + 1) {
    SCOPED_TRACE(place);
    std::string damaged = whole;
    damaged[place] = static_cast<char>(damaged[place] ^ 0x21);
    for (const std::string& bytes : {damaged, whole.substr(0, place)}) {
      std::ofstream(path, std::ios::binary) << bytes;
      EXPECT_EQ(symbolized(), cold);
    }
  }
}

TEST_F(Cache, IsIgnoredWhenNotWritable) {
  std::ofstream(directory_ / "cache") << "a file";
  const std::string with = symbolized();
  EXPECT_TRUE(report_.problems.empty());
  options_.cache_directory.clear();
  EXPECT_EQ(with, symbolized());
}

TEST_F(Cache, IsSharedByThreads) {
  const std::string cold = symbolized();
  fs::remove_all(options_.cache_directory);
  {
    std::vector<std::jthread> threads;
    for (size_t part = 0; part < 8; ++part) {
      threads.emplace_back([&, part] {
        // The ranges overlap, so each thread adds to what others have just written.
        std::vector<uint64_t> some(svmas_.begin() + static_cast<ptrdiff_t>(part * 30),
                                   svmas_.begin() + static_cast<ptrdiff_t>(part * 30 + 60));
        for (int round = 0; round < 5; ++round) {
          profile::Profile profile = profile_of(target_path(), some, build_id_);
          symbolize(profile, options_);
          some.push_back(svmas_[(part * 37 + static_cast<size_t>(round)) % svmas_.size()]);
        }
      });
    }
  }
  // The file is whole, and no temporary files are left.
  EXPECT_TRUE(NameTable::read(only_file(), NameCache::kMaxBytes, {build_id_, false}));
  EXPECT_EQ(symbolized(), cold);
}

TEST_F(Cache, StaysBelowItsMaximumSize) {
  fs::create_directories(options_.cache_directory);
  const std::string old = options_.cache_directory + "/old";
  std::ofstream(old) << "old";
  fs::resize_file(old, NameCache::kMaxBytes);  // sparse: it takes no space
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(1));
  symbolized();
  EXPECT_FALSE(fs::exists(old));
  EXPECT_NE(only_file(), "");
}

}  // namespace
}  // namespace sampan::symbolizer::test
