#include "sampler/recorder/python_lines.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>

namespace sampan::sampler {

using Bytes = std::vector<uint8_t>;

namespace {

using Format = wire::PythonLineTable;
using Numbers = std::vector<uint32_t>;

// The table of this function, by each format, with its first line at 7; lines and columns are what the
// interpreter's own dis.findlinestarts(), co_lines() and co_positions() say.
//
//   def f(a):
//     b = [a,
//          a]
//     return b
const Bytes kLnotab = {0, 1, 2, 1, 2, 255, 4, 2};
const Bytes kRanges = {2, 1, 2, 1, 4, 255, 4, 2};
const Bytes kLocations = {0x80, 0x00, 0xd8, 0x07, 0x08, 0xd8, 0x07, 0x08, 0xf0, 0x03,
                          0x01, 0x07, 0x0a, 0x80, 0x21, 0xe0, 0x09, 0x0a, 0x80, 0x28};

uint32_t line_of(const PythonLines& lines, uint32_t first_line, uint32_t unit) {
  return python_position(lines, first_line, unit).line;
}

Numbers numbers_of(uint32_t PythonPosition::*number, Format format, const Bytes& table,
                   uint32_t units) {
  Numbers numbers;
  for (uint32_t unit = 0; unit < units; ++unit) {
    numbers.push_back(python_position({format, table}, 7, unit).*number);
  }
  return numbers;
}
Numbers lines_of(Format format, const Bytes& table, uint32_t units) {
  return numbers_of(&PythonPosition::line, format, table, units);
}
Numbers columns_of(Format format, const Bytes& table, uint32_t units) {
  return numbers_of(&PythonPosition::column, format, table, units);
}

TEST(PythonLines, AreThoseOfTheTable) {
  EXPECT_EQ(lines_of(Format::kLnotab, kLnotab, 6), (Numbers{8, 9, 8, 8, 10, 10}));
  EXPECT_EQ(lines_of(Format::kRanges, kRanges, 6), (Numbers{8, 9, 8, 8, 10, 10}));
  EXPECT_EQ(lines_of(Format::kLocations, kLocations, 7), (Numbers{7, 8, 9, 8, 8, 10, 10}));
}

TEST(PythonLines, HaveColumnsInLocations) {
  EXPECT_EQ(columns_of(Format::kLnotab, kLnotab, 6), Numbers(6));
  EXPECT_EQ(columns_of(Format::kRanges, kRanges, 6), Numbers(6));
  EXPECT_EQ(columns_of(Format::kLocations, kLocations, 7), (Numbers{1, 8, 8, 7, 3, 10, 3}));
}

uint8_t entry(unsigned kind) {
  return static_cast<uint8_t>(0x80 | kind << 3);
}

TEST(PythonLines, HaveAColumnByEachKindOfEntry) {
  const Bytes table = {entry(0),  0x79,                   // short, from 7
                       entry(9),  0x7f,                   // short, from 79
                       entry(10), 127,  127,              // this line
                       entry(11), 0,    5,                // the next
                       entry(12), 80,   90,               // the next but one
                       entry(13), 2,                      // the next, without columns
                       entry(14), 3,    1,   0x41, 2, 9,  // long: one back, from 128
                       entry(14), 0,    0,   0,    0,     // long, without columns
                       entry(15)};
  EXPECT_EQ(lines_of(Format::kLocations, table, 10), (Numbers{7, 7, 7, 8, 10, 11, 10, 10, 0, 0}));
  EXPECT_EQ(columns_of(Format::kLocations, table, 10),
            (Numbers{8, 80, 128, 1, 81, 0, 129, 0, 0, 0}));
}

TEST(PythonLines, AColumnThatNoSourceHasIsNotKnown) {
  const Bytes table = {entry(14), 0, 0, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 2, 0};
  EXPECT_EQ(python_position({Format::kLocations, table}, 7, 0), (PythonPosition{7, 0}));
}

TEST(PythonLines, ARangeCanHaveNone) {
  EXPECT_EQ(lines_of(Format::kRanges, {2, 1, 2, 128, 2, 0, 2, 3}, 5), (Numbers{8, 0, 8, 11, 0}));
}

TEST(PythonLines, TheLastOneOfAnLnotabGoesOn) {
  EXPECT_EQ(line_of({Format::kLnotab, kLnotab}, 7, 5000), 10u);
  EXPECT_EQ(line_of({Format::kLnotab, {}}, 7, 3), 7u);
  EXPECT_EQ(line_of({Format::kRanges, kRanges}, 7, 5000), 0u);
  EXPECT_EQ(line_of({Format::kLocations, kLocations}, 7, 5000), 0u);
}

TEST(PythonLines, WhatIsBehindACutTableIsNotKnown) {
  const Bytes cut(wire::kMaxPythonLineTable, 1);
  EXPECT_EQ(line_of({Format::kLnotab, cut}, 7, 1), 9u);
  EXPECT_EQ(line_of({Format::kLnotab, cut}, 7, 5000), 0u);
}

TEST(PythonLines, NothingIsKnownBehindALineThatNoSourceHas) {
  const Bytes table = {entry(13), 0x7e, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 1,   // far on
                       entry(13), 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 1};  // and back
  EXPECT_EQ(lines_of(Format::kLocations, table, 2), (Numbers{0, 0}));
}

TEST(PythonLines, ABrokenTableHasNone) {
  EXPECT_EQ(line_of({Format::kLnotab, {2}}, 7, 3), 0u);
  EXPECT_EQ(line_of({Format::kRanges, {2}}, 7, 0), 0u);
  EXPECT_EQ(line_of({Format::kLocations, {0xf0}}, 7, 0), 0u);
  EXPECT_EQ(line_of({Format::kRanges, {2, 0x9c}}, 7, 0), 0u);  // line -93
  EXPECT_EQ(line_of({static_cast<Format>(77), kRanges}, 7, 0), 0u);
}

// Prints, for each code object of some modules: format, first line, table, then LINE:COLUMN of each unit.
const char* const kScript = R"(
import argparse, dis, enum, json.decoder, sys, tarfile, types, typing
version = sys.version_info[:2]
kind = 1 if version < (3, 10) else 2 if version < (3, 11) else 3
def show(code):
    lines, columns = {}, {}
    if kind == 1:
        starts = dict(dis.findlinestarts(code))
        line = code.co_firstlineno
        for offset in range(0, len(code.co_code), 2):
            lines[offset] = line = starts.get(offset, line)
    else:
        for start, end, line in code.co_lines():
            for offset in range(start, end, 2):
                lines[offset] = line
    if kind == 3:
        for unit, (line, _, column, _) in enumerate(code.co_positions()):
            columns[2 * unit] = 0 if not line or column is None else column + 1  # modules begin at line 0
    table = code.co_lnotab if kind == 1 else code.co_linetable
    if len(table) < 8192:
        print(kind, code.co_firstlineno, table.hex() or "-",
              *(f"{lines.get(offset) or 0}:{columns.get(offset, 0)}" for offset in range(0, len(code.co_code), 2)))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            show(constant)
for module in argparse, enum, json.decoder, tarfile, typing:
    with open(module.__file__, encoding="utf-8") as file:
        show(compile(file.read(), module.__file__, "exec"))
)";

Bytes bytes_of(const std::string& hex) {
  Bytes bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

// Only the first byte of an entry of a table of locations has the highest bit.
void add_kinds(const Bytes& table, std::set<unsigned>* kinds) {
  for (const uint8_t byte : table) {
    if ((byte & 0x80) != 0) kinds->insert(byte >> 3 & 15);
  }
}

// Whether there is such an interpreter. `programs`: words of the shell, of which the first that runs is
// taken. Adds to `kinds` those of the entries in its tables of locations.
bool check_lines_of(const std::string& programs, const std::string& option,
                    std::set<unsigned>* kinds) {
  const std::string script = testing::TempDir() + "lines_of_python.py";
  std::ofstream(script) << kScript;
  const std::string command = "for program in " + programs + "; do $program " + option + script +
                              " 2>/dev/null && break; done";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  std::array<char, 65536> buffer{};
  while (const size_t size = fread(buffer.data(), 1, buffer.size(), pipe.get())) {
    text.append(buffer.data(), size);
  }
  std::istringstream rows(text);
  unsigned codes = 0, units = 0;
  for (std::string row; std::getline(rows, row); ++codes) {
    std::istringstream words(row);
    unsigned format = 0, first_line = 0;
    std::string table;
    words >> format >> first_line >> table;
    const PythonLines lines{static_cast<Format>(format), table == "-" ? Bytes() : bytes_of(table)};
    if (lines.format == Format::kLocations) add_kinds(lines.table, kinds);
    PythonPosition position;
    char colon = 0;
    for (uint32_t unit = 0; words >> position.line >> colon >> position.column; ++unit, ++units) {
      const PythonPosition found = python_position(lines, first_line, unit);
      EXPECT_EQ(found.line, position.line)
          << programs << ", code " << codes << " of line " << first_line << ", unit " << unit;
      EXPECT_EQ(found.column, position.column)
          << programs << ", code " << codes << " of line " << first_line << ", unit " << unit;
      if (testing::Test::HasFailure()) return true;
    }
  }
  if (units == 0) return false;
  EXPECT_GT(codes, 300u);
  EXPECT_GT(units, 10'000u);
  return true;
}

TEST(PythonLines, AreThoseOfTheInterpreter) {
  unsigned found = 0;
  for (unsigned minor = 9; minor <= 14; ++minor) {
    const std::string number = std::to_string(minor);
    std::string programs = "python3.";
    programs += number;
    programs += " ${PYENV_ROOT:-$HOME/.pyenv}/versions/3.";
    programs += number;
    programs += ".*/bin/python3.";
    programs += number;
    std::set<unsigned> kinds;
    if (!check_lines_of(programs, "", &kinds)) continue;
    ++found;
    // Without columns in it, which interpreters before 3.11 do not know.
    EXPECT_TRUE(check_lines_of(programs, "-X no_debug_ranges ", &kinds));
    if (minor >= 11) {
      EXPECT_EQ(kinds.size(), 16u) << number;
    }
  }
  RecordProperty("interpreters", static_cast<int>(found));
  EXPECT_GT(found, 0u);
}

}  // namespace
}  // namespace sampan::sampler
