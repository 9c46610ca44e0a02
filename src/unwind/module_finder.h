// Which loaded module holds a pc. glibc 2.35 and later answer that without a lock
// (`_dl_find_object`); for older C libraries, a snapshot of the loader's list.
//
// Freestanding: linked into the target.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "unwind/image.h"

namespace sampan::unwind {

class ModuleFinder {
 public:
  // Ordinary context. Takes the snapshot where one is needed; `snapshot` insists on one.
  void start(bool snapshot = false);
  // Ordinary context, after modules have come or gone.
  void refresh();

  // Async-signal-safe. False when `pc` is not in the code of a loaded module. Reads the module's
  // program headers.
  bool find(uint64_t pc, Module& module) const;

 private:
  // A loaded module: where its ELF header is, where its last segment ends, and .eh_frame_hdr.
  struct Mapping {
    uint64_t start;
    uint64_t end;
    uint64_t eh_frame_hdr;
  };
  // Written under the loader's lock, an entry at a time, while handlers may read: the version is
  // odd meanwhile, and a reader that saw it change does not use what it has read.
  struct Snapshot {
    static constexpr size_t kCapacity = 1024;
    std::atomic<uint32_t> version;
    std::atomic<uint32_t> count;
    struct {
      std::atomic<uint64_t> start, end, eh_frame_hdr;
    } mappings[kCapacity];
  };

  bool find_in_snapshot(uint64_t pc, Mapping& mapping) const;

  Snapshot* snapshot_ = nullptr;
};

}  // namespace sampan::unwind
