// Files and lines of one unit, from its line number program (DWARF 5, 6.2).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "symbolizer/dwarf/unit.h"

namespace sampan::dwarf {

struct LineRow {
  uint32_t file = kNoFile;
  uint32_t line = 0;    // 0 unknown
  uint32_t column = 0;  // 0 unknown
  static constexpr uint32_t kNoFile = UINT32_MAX;
};

class LineTable {
 public:
  // `unit` refers to the line table: for split DWARF it is the skeleton.
  explicit LineTable(const Unit& unit);

  // The row of each address, in the order of `svmas` (ascending). Runs the program once.
  std::vector<LineRow> find(std::span<const uint64_t> svmas) const;
  // The path of a file by its number in rows and DIEs, joined with its directory and the
  // compilation directory; "" if it is unknown.
  std::string path(uint64_t file) const;

 private:
  struct FileEntry {
    const char* name = nullptr;
    uint64_t directory = 0;
  };
  struct Advance {
    uint32_t address = 0;
    int32_t line = 0;
  };
  class Machine;

  void read_header(uint64_t offset);
  void read_tables(ByteCursor& cursor);  // before DWARF 5
  void read_tables_5(ByteCursor& cursor);
  std::vector<FileEntry> read_entries_5(ByteCursor& cursor);

  const Unit& unit_;
  Encoding encoding_;
  uint8_t min_instruction_ = 1;
  uint8_t opcode_base_ = 1;
  std::array<uint8_t, 256> operands_{};  // operand count of each standard opcode
  std::array<Advance, 256> advances_{};  // of special opcodes
  Bytes program_;
  std::vector<const char*> directories_;
  std::vector<FileEntry> files_;
  uint32_t first_file_ = 1;
};

}  // namespace sampan::dwarf
