// Go's function table in its four layouts, made by hand. For tables made by Go itself see
// go_test.py.
#include "symbolizer/go_table.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "support.h"
#include "symbolizer/go_table.h"

namespace sampan::symbolizer::test {
namespace {

class Bytes {
 public:
  template <typename T>
  Bytes& add(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Bytes& text(std::string_view text) {
    text_.append(text).push_back('\0');
    return *this;
  }
  Bytes& raw(std::string_view text) {
    text_.append(text);
    return *this;
  }
  template <typename T>
  void set(size_t offset, T value) {
    std::memcpy(text_.data() + offset, &value, sizeof value);
  }
  uint32_t size() const { return static_cast<uint32_t>(text_.size()); }
  const std::string& string() const { return text_; }

 private:
  std::string text_;
};

enum Layout { kGo12, kGo116, kGo118, kGo120 };

// main.first at 0x1000, lines 10 and, from 0x1008 on, 12; main.second from 0x1020 to 0x1030, line
// 20; both in /src/a.go.
constexpr uint64_t kText = 0x1000;

// Table of values, from -1: `value` until pc `until`, then `next`.
std::string values(int value, unsigned until, int next = 0, unsigned next_until = 0) {
  const auto step = [](int difference, unsigned pcs) {
    return std::string{static_cast<char>(difference * 2), static_cast<char>(pcs)};
  };
  std::string result = step(value + 1, until);
  if (next_until != 0) result += step(next - value, next_until - until);
  return result + '\0';
}

std::string table(Layout layout) {
  Bytes names, units, files, pcs;
  const uint32_t first = names.raw(std::string(1, '\0')).size();
  names.text("main.first");
  const uint32_t second = names.size();
  names.text("main.second");
  files.raw(std::string(1, '\0')).text("/src/a.go");
  units.add<uint32_t>(1);  // file 0: its offset in the file table
  pcs.raw(std::string(1, '\0'));
  const uint32_t lines_first = pcs.size();
  pcs.raw(values(10, 8, 12, 0x20));
  const uint32_t lines_second = pcs.size();
  pcs.raw(values(20, 0x10));
  const uint32_t file_first = pcs.size();
  pcs.raw(values(layout == kGo12 ? 1 : 0, 0x20));

  const auto facts = [&](Bytes& to, uint64_t entry, uint32_t name, uint32_t lines, uint32_t base,
                         uint32_t base_of_values) {
    if (layout >= kGo118) {
      to.add(static_cast<uint32_t>(entry - kText));
    } else {
      to.add(entry);
    }
    to.add(base + name).add<uint32_t>(0).add<uint32_t>(0).add<uint32_t>(0);
    to.add(base_of_values + file_first).add(base_of_values + lines);
    to.add<uint32_t>(0);  // other fields
    if (layout != kGo12) to.add<uint32_t>(0);
    if (layout == kGo120) to.add<int32_t>(entry == kText ? 9 : 19);
    to.add<uint32_t>(0);
  };

  Bytes result;
  const uint32_t magic[] = {0xfffffffb, 0xfffffffa, 0xfffffff0, 0xfffffff1};
  result.add(magic[layout]).add<uint16_t>(0).add<uint8_t>(1).add<uint8_t>(8).add<uint64_t>(2);
  if (layout == kGo12) {
    const size_t rows = result.size();
    for (int i = 0; i < 6; ++i) result.add<uint64_t>(0);
    const uint32_t base = result.size();
    result.raw(names.string());
    const uint32_t base_of_files = result.size();
    result.raw(files.string());
    const uint32_t base_of_values = result.size();
    result.raw(pcs.string());
    result.set<uint64_t>(rows, kText);
    result.set<uint64_t>(rows + 8, result.size());
    facts(result, kText, first, lines_first, base, base_of_values);
    result.set<uint64_t>(rows + 16, kText + 0x20);
    result.set<uint64_t>(rows + 24, result.size());
    facts(result, kText + 0x20, second, lines_second, base, base_of_values);
    result.set<uint64_t>(rows + 32, kText + 0x30);
    result.set<uint32_t>(rows + 40, result.size());
    result.add<uint32_t>(2).add(base_of_files + 1);
    return result.string();
  }
  result.add<uint64_t>(1);
  if (layout >= kGo118) result.add(kText);
  const size_t offsets = result.size();
  for (int i = 0; i < 5; ++i) result.add<uint64_t>(0);
  size_t part = offsets;
  for (const Bytes* bytes : {&names, &units, &files, &pcs}) {
    result.set<uint64_t>(part, result.size());
    result.raw(bytes->string());
    part += 8;
  }
  result.set<uint64_t>(part, result.size());
  Bytes rows, all_facts;
  const uint32_t row_bytes = layout >= kGo118 ? 5 * 4 : 5 * 8;
  for (const uint64_t entry : {kText, kText + 0x20}) {
    if (layout >= kGo118) {
      rows.add(static_cast<uint32_t>(entry - kText)).add(row_bytes + all_facts.size());
    } else {
      rows.add(entry).add<uint64_t>(row_bytes + all_facts.size());
    }
    const bool is_first = entry == kText;
    facts(all_facts, entry, is_first ? first : second, is_first ? lines_first : lines_second, 0, 0);
  }
  if (layout >= kGo118) {
    rows.add<uint32_t>(0x30);
  } else {
    rows.add(kText + 0x30);
  }
  return result.raw(rows.string()).raw(all_facts.string()).string();
}

class GoTables : public testing::TestWithParam<Layout> {
 protected:
  // An ELF file that contains only this table.
  std::string file_with(const std::string& table) {
    const std::string path = directory_ / "go", content = directory_ / "content";
    std::ofstream(content, std::ios::binary) << table;
    run("objcopy --strip-all --add-section .gopclntab=" + content + " " + target_path() + " " +
        path);
    return path;
  }
  TemporaryDirectory directory_;
};

TEST_P(GoTables, HaveFunctionsFilesAndLines) {
  const ElfFile file(file_with(table(GetParam())));
  const auto found = GoTable::of(file);
  ASSERT_TRUE(found);
  GoLines lines(*found);
  Names names;
  const auto text_at = [&](uint64_t svma) {
    std::string text;
    for (const SourceLine& line : lines.at(svma, names)) {
      text += line.function->name + " " + std::to_string(line.function->line) + " " +
              (line.file != nullptr ? *line.file : "?") + ":" + std::to_string(line.line);
    }
    return text;
  };
  const std::string first = GetParam() == kGo120 ? "9" : "10";
  const std::string second = GetParam() == kGo120 ? "19" : "20";
  EXPECT_EQ(text_at(0xfff), "");
  EXPECT_EQ(text_at(0x1000), "main.first " + first + " /src/a.go:10");
  EXPECT_EQ(text_at(0x1007), "main.first " + first + " /src/a.go:10");
  EXPECT_EQ(text_at(0x1008), "main.first " + first + " /src/a.go:12");
  EXPECT_EQ(text_at(0x102f), "main.second " + second + " /src/a.go:20");
  EXPECT_EQ(text_at(0x1030), "");
}

// Nothing outside a damaged table is read, and every lookup returns.
TEST_P(GoTables, MayBeCutOrChanged) {
  const std::string whole = table(GetParam());
  std::mt19937_64 random(1);
  const auto ask = [&](const std::string& bytes) {
    const ElfFile file(file_with(bytes));
    const auto found = GoTable::of(file);
    if (!found) return;
    GoLines lines(*found);
    Names names;
    for (uint64_t svma = 0xff0; svma < 0x1040; ++svma) lines.at(svma, names);
  };
  for (size_t size = 1; size < whole.size(); size += 13) ask(whole.substr(0, size));
  for (int round = 0; round < 40; ++round) {
    std::string changed = whole;
    for (int i = 0; i < 4; ++i) {
      changed[8 + random() % (changed.size() - 8)] = static_cast<char>(random());
    }
    ask(changed);
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, GoTables, testing::Values(kGo12, kGo116, kGo118, kGo120));

}  // namespace
}  // namespace sampan::symbolizer::test
