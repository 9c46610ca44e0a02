// Bytes of a module, and the AVMA of the first one in the process that is being walked. In our own
// process the bytes are the mapping itself; for another process they are a copy. All reads of a
// module go through an image, so that damaged unwind information cannot lead outside.
//
// Freestanding: linked into the target.
#pragma once

#include <cstdint>
#include <span>

#include "base/byte_cursor.h"

namespace sampan::unwind {

// A ByteCursor that knows the AVMA it is at.
struct ImageCursor {
  ByteCursor bytes;
  uint64_t start;  // AVMA of the cursor's first byte

  uint64_t avma() const { return start + bytes.offset(); }
  bool ok() const { return bytes.ok(); }
};

struct Image {
  std::span<const uint8_t> bytes;
  uint64_t start;  // AVMA

  bool contains(uint64_t avma) const { return avma - start < bytes.size(); }

  // Reads from `from` up to, not including, `to`; a failed cursor when they are not in the image.
  ImageCursor cursor(uint64_t from, uint64_t to) const {
    const uint64_t first = from - start;
    const uint64_t last = to - start;
    ImageCursor result{ByteCursor(), from};
    if (first <= last && last <= bytes.size()) {
      result.bytes = ByteCursor(bytes.subspan(first, last - first));
    } else {
      result.bytes.fail();
    }
    return result;
  }
  ImageCursor cursor(uint64_t from) const { return cursor(from, start + bytes.size()); }
};

// What the walker needs to know about a loaded module.
struct Module {
  uint64_t code_start;  // AVMAs of the executable segment: [code_start, code_end)
  uint64_t code_end;
  uint64_t eh_frame_hdr;  // AVMA, in `image`; 0: the module has none
  Image image;            // the segment with .eh_frame_hdr and .eh_frame

  bool contains_code(uint64_t avma) const { return avma - code_start < code_end - code_start; }
};

}  // namespace sampan::unwind
