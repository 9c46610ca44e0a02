// Files that are cut off or changed: names may be missing, but nothing crashes or hangs.
#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
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

// The sections stay where they are, but contain noise.
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

// A sparse section of 10 GB: it must not be read completely.
TEST_F(Damaged, SparseSections) {
  constexpr uint64_t kHuge = uint64_t{10} << 30;
  Elf64_Ehdr header;
  std::memcpy(&header, bytes_.data(), sizeof header);
  size_t changed_sections = 0;
  for (uint16_t i = 1; i < header.e_shnum; ++i) {
    const size_t place = header.e_shoff + i * sizeof(Elf64_Shdr);
    Elf64_Shdr section;
    std::memcpy(&section, bytes_.data() + place, sizeof section);
    const bool is_wanted = section.sh_type == SHT_SYMTAB || section.sh_type == SHT_PROGBITS ||
                           section.sh_type == SHT_STRTAB;
    if (!is_wanted || i == header.e_shstrndx) continue;
    SCOPED_TRACE(i);
    std::string changed = bytes_;
    section.sh_offset = bytes_.size();
    section.sh_size = kHuge;
    std::memcpy(changed.data() + place, &section, sizeof section);
    const std::string path = directory_ / "sparse.so";
    std::ofstream(path, std::ios::binary) << changed;
    std::filesystem::resize_file(path, bytes_.size() + kHuge);
    profile::Profile profile = profile_of(path, svmas_);
    symbolize(profile);
    for (size_t k = 0; k < svmas_.size(); ++k) EXPECT_FALSE(lines_of(profile, k).empty());
    ++changed_sections;
  }
  EXPECT_GT(changed_sections, 10u);
}

template <typename T>
void append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Each DIE's first child is also its sibling: following both would take 2^60 paths.
TEST_F(Damaged, SiblingsThatAreChildren) {
  const uint64_t svma = svmas_.front();
  const std::string abbreviations(
      "\x01\x11\x01\x11\x01\x12\x06\x00\x00"          // compile_unit: low_pc addr, high_pc data4
      "\x02\x2e\x01\x01\x13\x11\x01\x12\x06\x00\x00"  // subprogram: sibling ref4, low_pc, high_pc
      "\x03\x0b\x01\x01\x13\x11\x01\x12\x06\x00\x00"  // lexical_block
      "\x00",
      9 + 11 + 11 + 1);
  std::string unit;
  append<uint16_t>(unit, 4);
  append<uint32_t>(unit, 0);
  append<uint8_t>(unit, 8);
  append<uint8_t>(unit, 1);
  append<uint64_t>(unit, svma);
  append<uint32_t>(unit, 16);
  for (int i = 0; i < 60; ++i) {
    append<uint8_t>(unit, i == 0 ? 2 : 3);
    append<uint32_t>(unit, static_cast<uint32_t>(sizeof(uint32_t) + unit.size() + 16));
    append<uint64_t>(unit, svma);
    append<uint32_t>(unit, 16);
  }
  unit.append(70, '\0');
  std::string info;
  append<uint32_t>(info, static_cast<uint32_t>(unit.size()));
  info += unit;
  std::ofstream(directory_ / "abbrev", std::ios::binary) << abbreviations;
  std::ofstream(directory_ / "info", std::ios::binary) << info;
  run("objcopy --remove-section .debug_aranges --update-section .debug_abbrev=" +
      (directory_ / "abbrev") + " --update-section .debug_info=" + (directory_ / "info") + " " +
      target_path() + " " + (directory_ / "loop.so"));
  profile::Profile profile = profile_of(directory_ / "loop.so", {svma});
  symbolize(profile);
  EXPECT_EQ(lines_of(profile, 0).size(), 1u);
}

}  // namespace
}  // namespace sampan::symbolizer::test
