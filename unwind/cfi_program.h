// The programs of CIEs and FDEs (DWARF 5, 6.4.2): instructions that change the row until the
// location has passed the pc.
//
// Freestanding: linked into the target; async-signal-safe.
#pragma once

#include <cstdint>

#include "unwind/cfi_row.h"
#include "unwind/image.h"

namespace sampan::unwind {

class CfiProgram {
 public:
  // How a CIE says that the programs are to be read.
  struct Alignment {
    uint64_t code;
    int64_t data;
    uint8_t pointer_encoding;  // of DW_CFA_set_loc
  };

  CfiProgram(const Image& image, const Alignment& alignment)
      : image_(image), alignment_(alignment) {}

  // What DW_CFA_restore goes back to: the row that the CIE's program made.
  void set_initial(const CfiRow& initial) { initial_ = &initial; }

  // Runs the program from `location` on until it has made the row for `pc`. False when damaged.
  bool run(ImageCursor& program, uint64_t location, uint64_t pc, CfiRow& row);

 private:
  struct Instruction {
    uint8_t opcode;   // without the operand in its low bits
    uint64_t number;  // register, factored delta or offset
    int64_t offset;   // in bytes; a second register; of an expression, where it is in the image
  };

  bool decode(ImageCursor& program, Instruction& instruction);
  bool execute(const Instruction& instruction, CfiRow& row) const;
  static bool set(const Instruction& instruction, RegisterRule::Kind kind, CfiRow& row);
  bool skip_forgotten(ImageCursor& program, Instruction& instruction, uint64_t& location,
                      uint64_t pc);

  const Image& image_;
  const Alignment& alignment_;
  const CfiRow* initial_ = nullptr;
  // A bound on the work: programs are short, and looking ahead may read a part of them again.
  unsigned budget_ = 1 << 16;
};

}  // namespace sampan::unwind
