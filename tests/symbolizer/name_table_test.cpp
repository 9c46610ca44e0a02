// Name tables: what was written can be read, and damaged bytes are harmless.
#include "symbolizer/name_table.h"

#include <gtest/gtest.h>
#include <libdeflate.h>

#include <cstring>
#include <string>

#include "symbolizer/name_table.h"

namespace sampan::symbolizer {
namespace {

const uint8_t kId[] = {0xab, 0xcd};
const NameTableKey kKey(kId, false);

std::optional<NameTable> table_of(const std::string& bytes, const NameTableKey& key = kKey) {
  return NameTable::of(bytes, key);
}

// "f file:1 (file:2); …" for an address that is known, innermost function first.
std::string text_of(const NameTable& table, uint64_t svma) {
  const auto row = table.find(svma);
  if (!row) return "not known";
  std::string text;
  for (const NameTable::Line& line : table.lines(*row)) {
    const NameTable::Function& function = table.functions()[line.function];
    text += std::string(table.text(function.name)) + " " + std::string(table.text(line.file)) +
            ":" + std::to_string(line.line) + " (" + std::string(table.text(function.file)) + ":" +
            std::to_string(function.line) + "); ";
  }
  return text;
}

class NameTables : public testing::Test {
 protected:
  NameTables() {
    const std::string* file = names_.file("/src/a.c");
    outer_ = names_.add({"outer", file, 10});
    inner_ = names_.add({"inner<int>(int)", names_.file("/src/b.h"), 3});
    LinesByAddress lines({0x1000, 0x1001, 0x1010, 0x90000});
    *lines.find(0x1000) = {{inner_, names_.file("/src/b.h"), 4}, {outer_, file, 12}};
    *lines.find(0x1001) = *lines.find(0x1000);
    *lines.find(0x1010) = {{outer_, file, 13}};
    const NameTable none;
    NameTableWriter writer(none);
    writer.add(lines.svmas(), lines);
    bytes_ = writer.bytes(kKey);
  }

  Names names_;
  const SourceFunction* outer_;
  const SourceFunction* inner_;
  std::string bytes_;
};

TEST_F(NameTables, ReturnWhatWasWritten) {
  const auto table = table_of(bytes_);
  ASSERT_TRUE(table);
  const std::string both =
      "inner<int>(int) /src/b.h:4 (/src/b.h:3); outer /src/a.c:12 (/src/a.c:10); ";
  EXPECT_EQ(text_of(*table, 0x1000), both);
  EXPECT_EQ(text_of(*table, 0x1001), both);
  EXPECT_EQ(text_of(*table, 0x1010), "outer /src/a.c:13 (/src/a.c:10); ");
  EXPECT_EQ(text_of(*table, 0x90000), "");  // known to have no function
  for (const uint64_t other : {0x0, 0xfff, 0x1002, 0x8ffff, 0x90001}) {
    EXPECT_EQ(text_of(*table, other), "not known") << other;
  }
  EXPECT_EQ(text_of(*table, 0x1'0000'1000), "not known");
  EXPECT_EQ(table->stacks(), 3u);  // two addresses share one
}

TEST_F(NameTables, AreExtended) {
  const auto table = table_of(bytes_);
  ASSERT_TRUE(table);
  NameTableWriter writer(*table);
  LinesByAddress more({0x500, 0x1005, 0xa0000, 0x1'0000'0000});
  for (const uint64_t svma : more.svmas()) *more.find(svma) = {{inner_, nullptr, 9}};
  writer.add(more.svmas(), more);
  EXPECT_EQ(writer.added(), 3u);  // addresses above 32 bits are left out
  const auto larger = table_of(writer.bytes(kKey));
  ASSERT_TRUE(larger);
  for (const uint64_t svma : {0x1000, 0x1001, 0x1010, 0x90000}) {
    EXPECT_EQ(text_of(*larger, svma), text_of(*table, svma));
  }
  for (const uint64_t svma : {0x500, 0x1005, 0xa0000}) {
    EXPECT_EQ(text_of(*larger, svma), "inner<int>(int) :9 (/src/b.h:3); ");
  }
  EXPECT_EQ(larger->functions().size(), table->functions().size());
}

TEST_F(NameTables, BelongToOneModule) {
  const uint8_t other[] = {0xab, 0xce};
  EXPECT_FALSE(table_of(bytes_, NameTableKey(other, false)));
  EXPECT_FALSE(table_of(bytes_, NameTableKey(kId, true)));
}

TEST_F(NameTables, AreIgnoredWhenDamaged) {
  for (size_t size = 0; size < bytes_.size(); ++size) {
    EXPECT_FALSE(table_of(bytes_.substr(0, size))) << size;
  }
  for (size_t place = 0; place < bytes_.size(); ++place) {
    std::string damaged = bytes_;
    damaged[place] = static_cast<char>(damaged[place] ^ 0x10);
    EXPECT_FALSE(table_of(damaged)) << place;
  }
}

// With a correct checksum over wrong content: the table's indexes are checked.
TEST_F(NameTables, HaveValidIndexes) {
  constexpr size_t kColumns = sizeof(NameTableHeader);
  size_t refused = 0;
  for (size_t place = kColumns; place + 4 <= bytes_.size(); place += 4) {
    for (const uint32_t value : {0xffffffffu, 0x7fffffffu, 5u, 0u}) {
      std::string changed = bytes_;
      std::memcpy(changed.data() + place, &value, sizeof value);
      NameTableHeader header;
      std::memcpy(&header, changed.data(), sizeof header);
      header.checksum = libdeflate_crc32(0, changed.data() + kColumns, changed.size() - kColumns);
      std::memcpy(changed.data(), &header, sizeof header);
      const auto table = table_of(changed);
      refused += !table;
      if (!table) continue;
      for (const uint32_t svma : table->svmas()) text_of(*table, svma);
      NameTableWriter(*table).bytes(kKey);
    }
  }
  EXPECT_GT(refused, 20u);
}

}  // namespace
}  // namespace sampan::symbolizer
