#include "sampler/recorder/python_lines.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

namespace sampan::sampler {
namespace {

using Bytes = std::vector<uint8_t>;
using Format = wire::PythonLineTable;
using Lines = std::vector<std::optional<uint32_t>>;

// The table of this function, by each format, with its first line at 7; the lines are what the
// interpreter's own dis.findlinestarts() and co_lines() say.
//
//   def f(a):
//     b = [a,
//          a]
//     return b
const Bytes kLnotab = {0, 1, 2, 1, 2, 255, 4, 2};
const Bytes kRanges = {2, 1, 2, 1, 4, 255, 4, 2};
const Bytes kLocations = {0x80, 0x00, 0xd8, 0x07, 0x08, 0xd8, 0x07, 0x08, 0xf0, 0x03,
                          0x01, 0x07, 0x0a, 0x80, 0x21, 0xe0, 0x09, 0x0a, 0x80, 0x28};

Lines lines_of(Format format, const Bytes& table, uint32_t units, uint32_t first_line = 7) {
  Lines lines;
  for (uint32_t unit = 0; unit < units; ++unit) {
    lines.push_back(python_line({format, table}, first_line, unit));
  }
  return lines;
}

TEST(PythonLines, AreThoseOfTheTable) {
  EXPECT_EQ(lines_of(Format::kLnotab, kLnotab, 6), (Lines{8, 9, 8, 8, 10, 10}));
  EXPECT_EQ(lines_of(Format::kRanges, kRanges, 6), (Lines{8, 9, 8, 8, 10, 10}));
  EXPECT_EQ(lines_of(Format::kLocations, kLocations, 7), (Lines{7, 8, 9, 8, 8, 10, 10}));
}

TEST(PythonLines, ARangeCanHaveNone) {
  EXPECT_EQ(lines_of(Format::kRanges, {2, 1, 2, 128, 2, 0, 2, 3}, 5),
            (Lines{8, std::nullopt, 8, 11, std::nullopt}));
}

TEST(PythonLines, TheLastOneOfAnLnotabGoesOn) {
  EXPECT_EQ(python_line({Format::kLnotab, kLnotab}, 7, 5000), 10u);
  EXPECT_EQ(python_line({Format::kLnotab, {}}, 7, 3), 7u);
  EXPECT_EQ(python_line({Format::kRanges, kRanges}, 7, 5000), std::nullopt);
  EXPECT_EQ(python_line({Format::kLocations, kLocations}, 7, 5000), std::nullopt);
}

TEST(PythonLines, WhatIsBehindACutTableIsNotKnown) {
  const Bytes cut(wire::kMaxPythonLineTable, 1);
  EXPECT_EQ(python_line({Format::kLnotab, cut}, 7, 1), 9u);
  EXPECT_EQ(python_line({Format::kLnotab, cut}, 7, 5000), std::nullopt);
}

TEST(PythonLines, ABrokenTableHasNone) {
  EXPECT_EQ(python_line({Format::kLnotab, {2}}, 7, 3), std::nullopt);
  EXPECT_EQ(python_line({Format::kRanges, {2}}, 7, 0), std::nullopt);
  EXPECT_EQ(python_line({Format::kLocations, {0xf0}}, 7, 0), std::nullopt);
  EXPECT_EQ(python_line({Format::kRanges, {2, 0x9c}}, 7, 0), std::nullopt);  // line -93
  EXPECT_EQ(python_line({static_cast<Format>(77), kRanges}, 7, 0), std::nullopt);
}

// Prints, for each code object of some modules: format, first line, table, then the line of each unit.
const char* const kScript = R"(
import argparse, dis, enum, json.decoder, sys, tarfile, types, typing
version = sys.version_info[:2]
kind = 1 if version < (3, 10) else 2 if version < (3, 11) else 3
def show(code):
    lines = {}
    if kind == 1:
        starts = dict(dis.findlinestarts(code))
        line = code.co_firstlineno
        for offset in range(0, len(code.co_code), 2):
            lines[offset] = line = starts.get(offset, line)
    else:
        for start, end, line in code.co_lines():
            for offset in range(start, end, 2):
                lines[offset] = line
    table = code.co_lnotab if kind == 1 else code.co_linetable
    if len(table) < 8192:
        print(kind, code.co_firstlineno, table.hex() or "-",
              *(lines.get(offset) or 0 for offset in range(0, len(code.co_code), 2)))
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

// Whether there is such an interpreter. `programs`: words of the shell, of which the first that runs is
// taken.
bool check_lines_of(const std::string& programs) {
  const std::string script = testing::TempDir() + "lines_of_python.py";
  std::ofstream(script) << kScript;
  const std::string command =
      "for program in " + programs + "; do $program " + script + " 2>/dev/null && break; done";
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
    unsigned line = 0;
    for (uint32_t unit = 0; words >> line; ++unit, ++units) {
      EXPECT_EQ(python_line(lines, first_line, unit).value_or(0), line)
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
    found += check_lines_of(programs);
  }
  RecordProperty("interpreters", static_cast<int>(found));
  EXPECT_GT(found, 0u);
}

}  // namespace
}  // namespace sampan::sampler
