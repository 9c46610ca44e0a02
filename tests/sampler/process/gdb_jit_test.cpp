// Reads what this process itself registers.
#include "sampler/process/gdb_jit.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/units.h"
#include "registered.h"

JitDescriptor __jit_debug_descriptor;  // NOLINT(readability-identifier-naming)

namespace sampan::sampler {
namespace {

using test::file_of;
using test::Registered;

class GdbJitTest : public testing::Test {
 protected:
  GdbJitTest() { jit_.find_descriptors(); }

  // Later than any bound on the time that looks take.
  GdbJit::Look look() {
    now_ns_ += 3600 * kNsPerSecond;
    return jit_.look(now_ns_).value_or(GdbJit::Look{});
  }
  // None of the many is cut short because the machine stood still meanwhile.
  GdbJit::Look whole_look() {
    GdbJit::Look seen = look();
    while (!seen.is_complete) seen = look();
    return seen;
  }
  // The names at this address, of the latest code first.
  static std::vector<std::string> names(const GdbJit::Look& look, Avma avma) {
    std::vector<std::string> names;
    for (const auto& code : look.code) {
      if (const auto* function = code->find(avma)) names.push_back(function->name);
    }
    return names;
  }
  using Names = std::vector<std::string>;

  GdbJit jit_{getpid()};
  MonotonicNs now_ns_ = 0;
};

TEST_F(GdbJitTest, FindsFunctionsWhereTheyAre) {
  const Registered relocatable(file_of("of an object", 0x10000, ET_REL));
  const Registered program(file_of("of a program", 0x20000, ET_EXEC));
  const GdbJit::Look seen = look();
  EXPECT_TRUE(seen.is_complete);
  ASSERT_EQ(seen.code.size(), 2u);
  EXPECT_EQ(names(seen, 0x0ffff), Names());
  EXPECT_EQ(names(seen, 0x10000), Names{"of an object"});
  EXPECT_EQ(names(seen, 0x1000f), Names{"of an object"});
  EXPECT_EQ(names(seen, 0x10010), Names());
  EXPECT_EQ(names(seen, 0x20000), Names{"of a program"});
}

// An object whose type says that it is none, as Wasmtime's.
TEST_F(GdbJitTest, TellsOffsetsByTheirValue) {
  Registered object(file_of("offset", 0x10000, ET_REL));
  reinterpret_cast<Elf64_Ehdr*>(object.file.data())->e_type = ET_DYN;
  EXPECT_EQ(names(look(), 0x10008), Names{"offset"});
}

TEST_F(GdbJitTest, KeepsWhatIsStillThere) {
  const Registered stays(file_of("stays", 0x10000));
  const GdbJit::Look before = look();
  {
    const Registered goes(file_of("goes", 0x20000));
    const GdbJit::Look both = look();
    ASSERT_EQ(both.code.size(), 2u);
    EXPECT_EQ(both.code[1], before.code.at(0));
  }
  const GdbJit::Look after = look();
  EXPECT_TRUE(after.is_complete);
  EXPECT_EQ(after.code, before.code);
}

TEST_F(GdbJitTest, SeesOtherCodeInTheSameEntryAndFile) {
  Registered entry(file_of("first", 0x10000));
  const GdbJit::Look before = look();
  const std::string other = file_of("other", 0x10000);
  ASSERT_EQ(other.size(), entry.file.size());
  std::memcpy(entry.file.data(), other.data(), other.size());
  const GdbJit::Look after = look();
  EXPECT_EQ(names(after, 0x10000), Names{"other"});
  EXPECT_NE(after.code, before.code);
}

TEST_F(GdbJitTest, WaitsBetweenLooks) {
  const Registered code(file_of("code", 0x10000));
  const MonotonicNs now_ns = look().time_ns;
  EXPECT_FALSE(jit_.look(now_ns));
}

TEST_F(GdbJitTest, EndsWhereTheListLeadsBack) {
  Registered last(file_of("last", 0x10000));
  const Registered first(file_of("first", 0x20000));
  last.entry.next = &__jit_debug_descriptor.first[0];
  const GdbJit::Look seen = look();
  last.entry.next = nullptr;
  EXPECT_FALSE(seen.is_complete);
  EXPECT_EQ(seen.code.size(), 2u);
  EXPECT_EQ(names(seen, 0x10000), Names{"last"});
}

TEST_F(GdbJitTest, EndsWhereAnEntryCannotBeRead) {
  Registered last(file_of("last", 0x10000));
  last.entry.next = reinterpret_cast<JitCodeEntry*>(0xdead0000);
  const GdbJit::Look seen = look();
  last.entry.next = nullptr;
  EXPECT_FALSE(seen.is_complete);
  EXPECT_EQ(names(seen, 0x10000), Names{"last"});
}

TEST_F(GdbJitTest, OfAnotherVersionIsNotRead) {
  const Registered code(file_of("code", 0x10000));
  __jit_debug_descriptor.version = 2;
  const GdbJit::Look seen = look();
  __jit_debug_descriptor.version = 1;
  EXPECT_FALSE(seen.is_complete);
  EXPECT_TRUE(seen.code.empty());
}

// Whatever an entry says, the ones behind it are found.
TEST_F(GdbJitTest, PassesFilesThatMakeNoSense) {
  const Registered good(file_of("good", 0x10000));
  const std::string file = file_of("bad", 0x20000);
  for (size_t size = 0; size < file.size(); ++size) {
    const Registered cut(file.substr(0, size));
    const GdbJit::Look seen = whole_look();
    ASSERT_EQ(names(seen, 0x10000), Names{"good"}) << size;
    ASSERT_EQ(names(seen, 0x20000), Names()) << size;
  }
  for (size_t at = 0; at + 8 <= file.size(); ++at) {
    std::string lies = file;
    std::memset(&lies[at], 0xff, 8);
    const Registered bad(lies);
    const Names there = names(whole_look(), 0x10000);
    ASSERT_FALSE(there.empty()) << at;
    ASSERT_EQ(there.back(), "good") << at;
  }
  Registered bad(file);
  for (const uint64_t address : {uint64_t{0}, uint64_t{0xdead0000}, UINT64_MAX - 3}) {
    bad.entry.file = reinterpret_cast<const char*>(address);
    bad.entry.file_size = UINT64_MAX;
    ASSERT_EQ(names(whole_look(), 0x10000), Names{"good"}) << address;
  }
}

TEST(GdbJit, OfAProcessThatIsGoneHasNothing) {
  GdbJit jit(5'000'000);
  jit.find_descriptors();
  EXPECT_FALSE(jit.has_descriptors());
}

}  // namespace
}  // namespace sampan::sampler
