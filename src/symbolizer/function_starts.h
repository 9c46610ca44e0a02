// Where the function around an address begins, by the unwind table, which even stripped files have.
//
// Without a name it still says which addresses are of one function: "[xz+0x5230]" is the function
// that begins there, and all its samples are in one row.
#pragma once

#include <cstdint>
#include <optional>

#include "symbolizer/elf_file.h"
#include "unwind/image.h"

namespace sampan::symbolizer {

class FunctionStarts {
 public:
  // The table is read in place: `file` must outlive this object.
  explicit FunctionStarts(const ElfFile& file);
  struct Range {
    uint64_t begin, end;
  };
  // The code of the function around the address. None where no FDE covers it.
  std::optional<Range> range(uint64_t svma) const;
  // That of the last function that begins at the address or before, which may end before it.
  std::optional<Range> last_range(uint64_t svma) const;

 private:
  unwind::Module module_{};  // SVMAs for AVMAs: as if loaded without a bias
};

}  // namespace sampan::symbolizer
