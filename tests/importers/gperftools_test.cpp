// Files as gperftools writes them. What pprof reads in files of others was compared by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "importers/imported.h"
#include "profile/unit.h"

namespace sampan::importers {
namespace {

constexpr std::string_view kMaps =
    "00400000-00500000 r-xp 00002000 08:02 1 /no such file/server\n"
    "00500000-00600000 rw-p 00102000 08:02 1 /no such file/server\n"
    "7f0000000000-7f0000100000 r-xp 00000000 08:02 2 /no such file/lib c.so\n";

template <typename Word>
std::string words(std::initializer_list<Word> all, bool swapped = false) {
  std::string bytes;
  for (Word word : all) {
    char text[sizeof word];
    std::memcpy(text, &word, sizeof word);
    if (swapped) std::reverse(text, text + sizeof word);
    bytes.append(text, sizeof word);
  }
  return bytes;
}

// Two stacks of 3 and 2 samples every 10 ms; the signal's handler is behind each leaf.
template <typename Word>
std::string cpu_profile(bool swapped = false) {
  return words<Word>({0, 3, 0, 10'000, 0,                            //
                      3, 4, 0x400010, 0x400900, 0x400010, 0x400100,  //
                      2, 3, 0x400020, 0x400900, 0x400100, 0, 1, 0},  //
                     swapped) +
         std::string(kMaps);
}

TEST(GperftoolsCpu, StacksAreThoseOfTheProgram) {
  for (const std::string& bytes : {cpu_profile<uint64_t>(), cpu_profile<uint32_t>(),
                                   cpu_profile<uint64_t>(true), cpu_profile<uint32_t>(true)}) {
    const profile::Profile profile = load_bytes(bytes);
    EXPECT_EQ(profile.session.program, "server");
    EXPECT_EQ(profile.session.rate_hz, 100u);
    EXPECT_EQ(profile.session.unit, "");
    const auto stacks = stacks_of(profile);
    ASSERT_EQ(stacks.size(), 2u);
    // The offset in the file, for the file is not there. A return address is after its call.
    EXPECT_EQ(stacks.at("all;server+0x20ff;server+0x2010"), (Sum{3, 30'000'000}));
    EXPECT_EQ(stacks.at("all;server+0x20ff;server+0x2020"), (Sum{2, 20'000'000}));
  }
}

TEST(GperftoolsCpu, WhatIsCutOffIsSaid) {
  const std::string whole = cpu_profile<uint64_t>();
  const size_t records = whole.size() - kMaps.size();
  for (size_t size = 48; size < records - 8; size += 8) {
    const std::string error = error_of(whole.substr(0, size), "gperftools-cpu");
    EXPECT_TRUE(error == "" || error == "it is cut off") << size << error;
  }
  EXPECT_EQ(error_of(words<uint64_t>({0, 3, 0, 0, 0}), "gperftools-cpu"), "its period is 0 µs");
}

std::string heap(std::string_view kind) {
  return "heap profile:    3:  3000 [   5:  5000] @ " + std::string(kind) +
         "\n     2:     2000 [     4:     4000] @ 0x00400011 0x400101\n"
         "     1:     1000 [     1:     1000] @ 0x00400021 0x400101 0x7f0000000001\n"
         "\nMAPPED_LIBRARIES:\n" +
         std::string(kMaps);
}

TEST(GperftoolsHeap, HasFourValues) {
  const std::vector<std::pair<const char*, uint64_t>> values = {{"", 2000},
                                                                {"inuse_space", 2000},
                                                                {"inuse_objects", 2},
                                                                {"alloc_space", 4000},
                                                                {"alloc_objects", 4}};
  for (const auto& [name, value] : values) {
    const profile::Profile profile = load_bytes(heap("heapprofile"), "", {.weight = name});
    EXPECT_EQ(profile.session.unit, std::string(name).ends_with("objects") ? "objects" : "bytes");
    const auto stacks = stacks_of(profile);
    EXPECT_EQ(stacks.at("all;server+0x2100;server+0x2010").weight, value * profile::kWeightOfOne)
        << name;
    EXPECT_TRUE(stacks.contains("all;lib c.so+0x0;server+0x2100;server+0x2020"));
  }
  EXPECT_EQ(
      error_of(heap("heapprofile"), "", {.weight = "space"}),
      "it has no value 'space' (it has: inuse_space, inuse_objects, alloc_space, alloc_objects)");
}

// An allocation of 1000 bytes was seen with the probability 1 - exp(-1000/period).
TEST(GperftoolsHeap, ASampleStandsForMany) {
  const auto bytes = [](std::string_view kind) {
    return stacks_of(load_bytes(heap(kind))).at("all;server+0x2100;server+0x2010").weight /
           profile::kWeightOfOne;
  };
  const double expected = 2000 / (1 - std::exp(-1000.0 / 524'288));
  EXPECT_NEAR(static_cast<double>(bytes("heap_v2/524288")), expected, 1);
  EXPECT_NEAR(static_cast<double>(bytes("heap/1048576")), expected, 1);
  EXPECT_EQ(bytes("growthz"), 2000u);
}

TEST(GperftoolsHeap, TheShortListOfFilesIsRead) {
  const std::string bytes =
      "heap profile: 1: 10 [ 1: 10] @ heapprofile\n 1: 10 [ 1: 10] @ 0x400011\n"
      "--- Memory map: ---\n  source=/home\n  00400000-00fcb000: $source/server\n";
  EXPECT_TRUE(stacks_of(load_bytes(bytes)).contains("all;server+0x10"));
}

TEST(GperftoolsHeap, WrongLinesAreNamed) {
  EXPECT_EQ(error_of("heap profile: 1: 10 [ 1: 10] @ heapprofile\n1: x\n"),
            "line 2 is no allocation");
  EXPECT_EQ(error_of("heap profile: 1: 10 [ 1: 10] @ heapprofile\n 1: 10 [ 1: 10] @ 0xzz\n"),
            "line 2: 'zz' is no address");
}

}  // namespace
}  // namespace sampan::importers
