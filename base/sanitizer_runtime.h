// The runtime library of a sanitizer, beside which the shim is preloaded. AddressSanitizer's must be the first library of
// the process, or it ends the program. So the shim stands behind a runtime that LD_PRELOAD has, and one that the program
// needs is preloaded before the shim.
//
// Freestanding: linked into the target.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "base/syscall.h"

namespace sampan {

// "libasan.so.8": what DT_NEEDED says, without a folder.
class RuntimeName {
 public:
  bool empty() const { return text_[0] == '\0'; }
  const char* c_str() const { return text_; }
  // Reads it from a file; forgets it when that is no such name.
  void read(int file, uint64_t offset);

 private:
  bool is_first() const;

  char text_[64] = {};
};

// Ends with a zero byte.
inline bool begins_with(const char* text, const char* prefix) {
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

inline bool RuntimeName::is_first() const {
  return begins_with(text_, "libasan.so") || begins_with(text_, "libclang_rt.asan");
}

inline void RuntimeName::read(int file, uint64_t offset) {
  const long size = raw_syscall(SYS_pread64, file, text_, sizeof text_ - 1, offset);
  text_[size > 0 ? size : 0] = '\0';
  if (strlen(text_) == sizeof text_ - 1 || !is_first()) text_[0] = '\0';
}

// A 64-bit ELF file whose dynamic section is read.
class NeededLibraries {
 public:
  explicit NeededLibraries(int file) : file_(file) {
    Elf64_Ehdr header;
    if (!get(header, 0) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr)) {
      return;
    }
    header_ = header;
    for_each_segment([&](const Elf64_Phdr& segment) {
      if (segment.p_type == PT_DYNAMIC) dynamic_ = segment;
    });
  }

  // The runtime that must be the first library, if it is needed.
  RuntimeName runtime() const {
    uint64_t names = 0;  // where they are in the file
    for_each_entry([&](const Elf64_Dyn& entry) {
      if (entry.d_tag == DT_STRTAB) names = offset_of(entry.d_un.d_ptr);
    });
    RuntimeName found;
    for_each_entry([&](const Elf64_Dyn& entry) {
      if (entry.d_tag == DT_NEEDED && found.empty()) found.read(file_, names + entry.d_un.d_val);
    });
    return found;
  }

 private:
  static constexpr uint64_t kMostEntries = 4096;

  template <typename T>
  bool get(T& value, uint64_t offset) const {
    return raw_syscall(SYS_pread64, file_, &value, sizeof value, offset) == sizeof value;
  }
  template <typename F>
  void for_each_segment(F&& call) const {
    for (unsigned i = 0; i < header_.e_phnum; ++i) {
      Elf64_Phdr segment;
      if (!get(segment, header_.e_phoff + i * sizeof segment)) return;
      call(segment);
    }
  }
  template <typename F>
  void for_each_entry(F&& call) const {
    const uint64_t count = dynamic_.p_filesz / sizeof(Elf64_Dyn);
    for (uint64_t i = 0; i < count && i < kMostEntries; ++i) {
      Elf64_Dyn entry;
      if (!get(entry, dynamic_.p_offset + i * sizeof entry) || entry.d_tag == DT_NULL) return;
      call(entry);
    }
  }
  uint64_t offset_of(uint64_t address) const {
    uint64_t offset = 0;
    for_each_segment([&](const Elf64_Phdr& segment) {
      if (segment.p_type == PT_LOAD && address - segment.p_vaddr < segment.p_filesz) {
        offset = segment.p_offset + (address - segment.p_vaddr);
      }
    });
    return offset;
  }

  int file_;
  Elf64_Ehdr header_{};
  Elf64_Phdr dynamic_{};
};

// How much of a list for LD_PRELOAD, with its separator, stands before the shim: up to the last runtime of a sanitizer.
inline size_t before_shim(const char* list) {
  size_t before = 0;
  const char* entry = list;
  while (*entry != '\0') {
    const size_t length = strcspn(entry, ": ");
    const char* name = entry;
    for (const char* c = entry; c < entry + length; ++c) {
      if (*c == '/') name = c + 1;
    }
    const char* const next = entry + length + (entry[length] != '\0');
    for (const char* runtime :
         {"libasan.so", "libtsan.so", "liblsan.so", "libhwasan.so", "libclang_rt."}) {
      if (begins_with(name, runtime)) before = static_cast<size_t>(next - list);
    }
    entry = next;
  }
  return before;
}

// Between a runtime that was preloaded for the shim's sake and the shim: an empty entry. The shim takes that runtime out of
// the environment when the program has begun: other programs are not to get it.
inline constexpr const char* kBeforeShim = "::";

}  // namespace sampan
