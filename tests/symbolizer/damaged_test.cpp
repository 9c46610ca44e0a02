// Files that are cut or changed: names may be missing, but nothing crashes and nothing hangs.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>

#include "support.h"

namespace sampan::symbolizer::test {
namespace {

class Damaged : public testing::Test {
 protected:
  Damaged() {
    std::ifstream file(target_path(), std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
    svmas_ = addresses_in_text(target_path(), 50);
  }

  Report symbolize_bytes(const std::string& bytes) {
    const std::string path = directory_ / "damaged.so";
    std::ofstream(path, std::ios::binary) << bytes;
    profile::Profile profile = profile_of(path, svmas_);
    Report report = symbolize(profile);
    for (size_t i = 0; i < svmas_.size(); ++i) EXPECT_FALSE(lines_of(profile, i).empty());
    return report;
  }

  TemporaryDirectory directory_;
  std::string bytes_;
  std::vector<uint64_t> svmas_;
};

TEST_F(Damaged, CutAtAnyLength) {
  for (size_t part = 0; part < 50; ++part) {
    SCOPED_TRACE(part);
    symbolize_bytes(bytes_.substr(0, bytes_.size() * part / 50));
  }
  EXPECT_EQ(symbolize_bytes("").problems.size(), 1u);
  EXPECT_EQ(symbolize_bytes(bytes_).problems.size(), 0u);
}

TEST_F(Damaged, ChangedInAFewBytes) {
  std::mt19937_64 random(1);
  for (size_t round = 0; round < 100; ++round) {
    SCOPED_TRACE(round);
    std::string changed = bytes_;
    for (int i = 0; i < 50; ++i) changed[random() % changed.size()] = static_cast<char>(random());
    symbolize_bytes(changed);
  }
}

// The sections stay where they are, their content is noise.
TEST_F(Damaged, NoiseForDebugInformation) {
  const std::string noise = directory_ / "noise";
  for (const char* section : {".debug_info", ".debug_abbrev", ".debug_line", ".debug_rnglists"}) {
    SCOPED_TRACE(section);
    std::mt19937_64 random(1);
    std::ofstream file(noise, std::ios::binary);
    for (int i = 0; i < 20000; ++i) file.put(static_cast<char>(random()));
    file.close();
    const std::string path = directory_ / "noisy.so";
    run("objcopy --update-section " + std::string(section) + "=" + noise + " " + target_path() +
        " " + path + " 2>/dev/null");
    std::ifstream changed(path, std::ios::binary);
    symbolize_bytes(std::string(std::istreambuf_iterator<char>(changed), {}));
  }
}

}  // namespace
}  // namespace sampan::symbolizer::test
