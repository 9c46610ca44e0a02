#include "symbolizer/dwarf/line_table.h"

#include <dwarf.h>

#include <algorithm>

namespace sampan::dwarf {
namespace {

const char* read_text(ByteCursor& cursor, const Encoding& encoding) {
  return read_value(cursor, encoding, {0, DW_FORM_string, encoding}).text;
}

bool is_absolute(const char* path) {
  return path != nullptr && path[0] == '/';
}

}  // namespace

LineTable::LineTable(const Unit& unit) : unit_(unit), encoding_(unit.header().encoding) {
  if (unit.line_offset()) read_header(*unit.line_offset());
}

void LineTable::read_header(uint64_t offset) {
  ByteCursor cursor(bytes_from(unit_.sections().line, offset));
  encoding_.offset_size = 4;
  uint64_t length = cursor.u32();
  if (length == 0xffffffff) {
    encoding_.offset_size = 8;
    length = cursor.u64();
  }
  if (!cursor.ok() || length > cursor.remaining()) return;
  cursor = ByteCursor(cursor.take(length));
  encoding_.version = cursor.u16();
  if (encoding_.version < 2 || encoding_.version > 5) return;
  if (encoding_.version >= 5) {
    encoding_.address_size = cursor.u8();
    cursor.skip(1);  // size of segment selectors
  }
  const uint64_t header_length = read_offset(cursor, encoding_);
  if (!cursor.ok() || header_length > cursor.remaining()) return;
  ByteCursor header(cursor.take(header_length));
  const Bytes program = cursor.take(cursor.remaining());
  min_instruction_ = header.u8();
  if (encoding_.version >= 4) header.skip(1);  // operations per instruction: 1 on x86
  header.skip(1);                              // default_is_stmt
  const int8_t line_base = static_cast<int8_t>(header.u8());
  const uint8_t line_range = header.u8();
  opcode_base_ = header.u8();
  for (unsigned opcode = 1; opcode < opcode_base_; ++opcode) operands_[opcode] = header.u8();
  if (!header.ok() || line_range == 0 || opcode_base_ == 0) return;
  for (unsigned opcode = opcode_base_; opcode < 256; ++opcode) {
    const unsigned adjusted = opcode - opcode_base_;
    advances_[opcode] = {adjusted / line_range * min_instruction_,
                         line_base + static_cast<int32_t>(adjusted % line_range)};
  }
  if (encoding_.version >= 5) {
    read_tables_5(header);
  } else {
    read_tables(header);
  }
  program_ = program;
}

void LineTable::read_tables(ByteCursor& cursor) {
  directories_.push_back(unit_.directory());
  while (const char* directory = read_text(cursor, encoding_)) {
    if (*directory == '\0') break;
    directories_.push_back(directory);
  }
  while (const char* name = read_text(cursor, encoding_)) {
    if (*name == '\0') break;
    files_.push_back({name, cursor.uleb()});
    cursor.uleb();  // time
    cursor.uleb();  // size
  }
}

void LineTable::read_tables_5(ByteCursor& cursor) {
  first_file_ = 0;
  for (const FileEntry& entry : read_entries_5(cursor)) directories_.push_back(entry.name);
  files_ = read_entries_5(cursor);
}

std::vector<LineTable::FileEntry> LineTable::read_entries_5(ByteCursor& cursor) {
  std::vector<AttributeSpec> formats;
  for (uint8_t left = cursor.u8(); left != 0; --left) {
    const uint64_t name = cursor.uleb();
    formats.emplace_back(name, cursor.uleb(), encoding_);
  }
  const uint64_t count = cursor.uleb();
  std::vector<FileEntry> entries;
  // An entry has at least one byte. Without this check a damaged count would run on.
  for (uint64_t i = 0; i < count && cursor.ok() && !cursor.at_end(); ++i) {
    FileEntry entry;
    for (const AttributeSpec& format : formats) {
      const Value value = read_value(cursor, encoding_, format);
      if (format.name == DW_LNCT_path) entry.name = unit_.text(value);
      if (format.name == DW_LNCT_directory_index) entry.directory = value.number;
    }
    entries.push_back(entry);
  }
  return entries;
}

std::string LineTable::path(uint64_t file) const {
  const uint64_t index = file - first_file_;
  if (index >= files_.size() || files_[index].name == nullptr) return "";
  const FileEntry& entry = files_[index];
  std::string path = entry.name;
  const auto put_below = [&path](const char* directory) {
    if (directory != nullptr && *directory != '\0') path = std::string(directory) + "/" + path;
  };
  if (is_absolute(path.c_str())) return path;
  const char* directory =
      entry.directory < directories_.size() ? directories_[entry.directory] : nullptr;
  put_below(directory);
  // The first directory is the compilation directory.
  if (!is_absolute(path.c_str()) && entry.directory != 0) put_below(unit_.directory());
  return path;
}

// Runs through the rows and keeps those of the wanted addresses.
class LineTable::Machine {
 public:
  Machine(std::span<const uint64_t> wanted, std::vector<LineRow>& found)
      : wanted_(wanted), found_(found) {}

  uint64_t address = 0;
  uint32_t file = 1;
  uint32_t line = 1;
  uint32_t column = 0;

  void emit() {
    if (in_sequence_) {
      assign();
    } else {
      is_discarded_ = address == 0;
    }
    in_sequence_ = true;
    row_address_ = address;
    row_ = {file, line, column};
  }

  void end_sequence() {
    if (in_sequence_) assign();
    in_sequence_ = false;
    address = 0;
    file = 1;
    line = 1;
    column = 0;
  }

 private:
  // The last row ends at the address of this one.
  void assign() {
    if (address <= row_address_ || is_discarded_) return;
    if (next_ >= wanted_.size() || wanted_[next_] < row_address_ ||
        (next_ > 0 && wanted_[next_ - 1] >= row_address_)) {
      next_ =
          static_cast<size_t>(std::ranges::lower_bound(wanted_, row_address_) - wanted_.begin());
    }
    for (; next_ < wanted_.size() && wanted_[next_] < address; ++next_) found_[next_] = row_;
  }

  std::span<const uint64_t> wanted_;
  std::vector<LineRow>& found_;
  size_t next_ = 0;  // the first wanted address that is not before the row
  bool in_sequence_ = false;
  bool is_discarded_ = false;  // by the linker: its address is 0
  uint64_t row_address_ = 0;
  LineRow row_;
};

std::vector<LineRow> LineTable::find(std::span<const uint64_t> svmas) const {
  std::vector<LineRow> found(svmas.size());
  Machine machine(svmas, found);
  ByteCursor cursor(program_);
  while (!cursor.at_end()) {
    const uint8_t opcode = cursor.u8();
    if (opcode >= opcode_base_) {
      machine.address += advances_[opcode].address;
      machine.line += static_cast<uint32_t>(advances_[opcode].line);
      machine.emit();
      continue;
    }
    switch (opcode) {
      case 0: {  // extended
        ByteCursor operands(cursor.take(cursor.uleb()));
        switch (operands.u8()) {
          case DW_LNE_end_sequence: machine.end_sequence(); break;
          case DW_LNE_set_address:
            machine.address = operands.remaining() >= 8 ? operands.u64() : operands.u32();
            break;
          default: break;
        }
        break;
      }
      case DW_LNS_copy: machine.emit(); break;
      case DW_LNS_advance_pc: machine.address += cursor.uleb() * min_instruction_; break;
      case DW_LNS_advance_line: machine.line += static_cast<uint32_t>(cursor.sleb()); break;
      case DW_LNS_set_file: machine.file = static_cast<uint32_t>(cursor.uleb()); break;
      case DW_LNS_set_column: machine.column = static_cast<uint32_t>(cursor.uleb()); break;
      case DW_LNS_const_add_pc: machine.address += advances_[255].address; break;
      case DW_LNS_fixed_advance_pc: machine.address += cursor.u16(); break;
      default:
        for (uint8_t i = 0; i < operands_[opcode]; ++i) cursor.uleb();
        break;
    }
  }
  return found;
}

}  // namespace sampan::dwarf
