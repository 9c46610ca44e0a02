#include "symbolizer/line_table.h"

#include <dwarf.h>

namespace sampan::symbolizer {

namespace {

uint32_t number(Dwarf_Die& die, unsigned attribute) {
  Dwarf_Attribute value;
  Dwarf_Word word = 0;
  if (dwarf_attr(&die, attribute, &value) == nullptr || dwarf_formudata(&value, &word) != 0) {
    return 0;
  }
  return word <= UINT32_MAX ? static_cast<uint32_t>(word) : 0;
}

const char* compilation_directory(Dwarf_Die& unit) {
  Dwarf_Attribute directory;
  return dwarf_formstring(dwarf_attr(&unit, DW_AT_comp_dir, &directory));
}

}  // namespace

LineTable::LineTable(const Dwarf_Die& unit)
    : unit_(unit), directory_(compilation_directory(unit_)) {}

SourcePlace LineTable::find(uint64_t svma) {
  SourcePlace place;
  place.directory = directory_;
  Dwarf_Line* line = dwarf_getsrc_die(&unit_, svma);
  if (line == nullptr) return place;
  int value = 0;
  if (dwarf_lineno(line, &value) == 0 && value > 0) place.line = static_cast<uint32_t>(value);
  place.file = dwarf_linesrc(line, nullptr, nullptr);
  return place;
}

SourcePlace LineTable::call_site(Dwarf_Die& inlined) {
  if (!files_read_) {
    files_read_ = true;
    if (dwarf_getsrcfiles(&unit_, &files_, &file_count_) != 0) file_count_ = 0;
  }
  SourcePlace place;
  place.directory = directory_;
  place.line = number(inlined, DW_AT_call_line);
  const uint32_t index = number(inlined, DW_AT_call_file);
  if (index < file_count_) place.file = dwarf_filesrc(files_, index, nullptr, nullptr);
  return place;
}

SourcePlace declaration(Dwarf_Die& function) {
  SourcePlace place;
  place.file = dwarf_decl_file(&function);
  Dwarf_Attribute file;
  Dwarf_Die unit;
  if (dwarf_attr_integrate(&function, DW_AT_decl_file, &file) != nullptr &&
      dwarf_cu_die(file.cu, &unit, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr) !=
          nullptr) {
    place.directory = compilation_directory(unit);
  }
  int line = 0;
  if (dwarf_decl_line(&function, &line) == 0 && line > 0) place.line = static_cast<uint32_t>(line);
  return place;
}

}  // namespace sampan::symbolizer
