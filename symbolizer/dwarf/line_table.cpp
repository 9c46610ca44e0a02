// LineTable's header: which files and directories there are (DWARF 5, 6.2.4; DWARF 4, 6.2.4).
#include <dwarf.h>

#include "dwarf/line_table.h"

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
  ByteCursor cursor(behind(unit_.sections().line, offset));
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
  // An entry has at least a byte; without one a count may be anything.
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
  // The first directory is the compiler's own already.
  if (!is_absolute(path.c_str()) && entry.directory != 0) put_below(unit_.directory());
  return path;
}

}  // namespace sampan::dwarf
