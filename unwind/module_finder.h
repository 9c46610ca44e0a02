// Finds the loaded module that holds a pc. glibc 2.35 and later answer that without a lock
// (`_dl_find_object`). For older C libraries, a snapshot of the loader's list is kept; and for all, one
// of the modules whose program headers are not where linkers put them, behind the ELF header. BOLT and
// patchelf move them, and the answer does not say where to.
//
// Freestanding: linked into the target.
#pragma once

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "unwind/image.h"

namespace sampan::unwind {

// `_dl_find_object`: not linked to, so that the shim loads with an older C library.
using FindObject = int(void*, dl_find_object*);
// Null: the C library is older. The shim finds it itself (preload/support/loaded_symbols.h).
inline FindObject* find_object_by_loader() {
  return reinterpret_cast<FindObject*>(dlsym(RTLD_DEFAULT, "_dl_find_object"));
}

class ModuleFinder {
 public:
  // Ordinary context. `find_object`: null: all modules are found by a snapshot.
  void start(FindObject* find_object);
  // Ordinary context, after modules have come or gone.
  void refresh();
  // In a forked child, where the loader's lock may be held for ever: what another thread was writing is dropped, and all of it if
  // a module was being unloaded. The next refresh() has it again.
  void after_fork(bool unloading);

  // Async-signal-safe. False when `pc` is not in the code of a loaded module. Reads the module's
  // program headers.
  bool find(uint64_t pc, Module& module) const;

 private:
  // A loaded module: where its ELF header is, where its last segment ends, .eh_frame_hdr, and its
  // program headers as the loader has them.
  struct Mapping {
    uint64_t start;
    uint64_t end;
    uint64_t eh_frame_hdr;
    const Elf64_Phdr* headers;
    uint64_t header_count;
    uint64_t bias;
  };
  // Written under the loader's lock, one entry at a time, while handlers may read. The version is
  // odd meanwhile; a reader that sees it change does not use what it has read.
  struct Snapshot {
    static constexpr size_t kCapacity = 1024;
    std::atomic<uint32_t> version;
    std::atomic<uint32_t> count;
    struct {
      std::atomic<uint64_t> start, end, eh_frame_hdr, header_count, bias;
      std::atomic<const Elf64_Phdr*> headers;
    } mappings[kCapacity];
  };

  static Mapping mapping_of(const dl_phdr_info& info);
  bool find_in_snapshot(uint64_t pc, Mapping& mapping) const;

  // The program itself. It is never unloaded. Where its segments have gaps, `_dl_find_object` gives
  // the bounds of one segment, from which the headers cannot be found.
  Mapping program_{};

  FindObject* find_object_ = nullptr;  // null: the snapshot has all modules
  Snapshot* snapshot_ = nullptr;
};

}  // namespace sampan::unwind
