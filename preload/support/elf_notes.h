// The notes of a module in memory. Freestanding: linked into the target.
#pragma once

#include <elf.h>
#include <link.h>
#include <string.h>

#include <cstdint>
#include <span>

namespace sampan::preload {

struct ElfNote {
  uint32_t type;
  std::span<const uint8_t> name;  // with the zero at its end
  std::span<const uint8_t> descriptor;
};

// Calls `each` for the notes of one segment, up to the first that does not fit into the segment.
// `alignment` is the segment's.
template <typename F>
void for_each_note(std::span<const uint8_t> notes, uint64_t alignment, F&& each) {
  const size_t unit = alignment == 8 ? 8 : 4;
  const auto align = [unit](size_t size) { return (size + unit - 1) & ~(unit - 1); };
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    memcpy(&header, notes.data(), sizeof header);
    const size_t name = sizeof header;
    const size_t descriptor = align(name + header.n_namesz);
    const size_t next = align(descriptor + header.n_descsz);
    if (descriptor > notes.size() || header.n_descsz > notes.size() - descriptor) return;
    each(ElfNote{header.n_type, notes.subspan(name, header.n_namesz),
                 notes.subspan(descriptor, header.n_descsz)});
    if (next > notes.size()) return;
    notes = notes.subspan(next);
  }
}

}  // namespace sampan::preload
