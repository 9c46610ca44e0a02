// LineTable's program: a machine with an address, a file and a line, of which each opcode changes
// some (DWARF 5, 6.2.2 and 6.2.5).
#include <dwarf.h>

#include <algorithm>

#include "dwarf/line_table.h"

namespace sampan::dwarf {

// Takes rows as they come, and keeps those around the wanted addresses.
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
  // The last row reaches up to the address of this one.
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
  bool is_discarded_ = false;  // by the linker: it begins at 0
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
