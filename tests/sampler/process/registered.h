// Code that the tests' own process registers with debuggers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/elf_symbols.h"

struct JitCodeEntry {
  JitCodeEntry* next;
  JitCodeEntry* previous;
  const char* file;
  uint64_t file_size;
};
struct JitDescriptor {
  uint32_t version = 1, action = 0;
  JitCodeEntry* relevant = nullptr;
  JitCodeEntry* first = nullptr;
};
extern "C" JitDescriptor __jit_debug_descriptor;  // NOLINT(readability-identifier-naming)

namespace sampan::test {

// The first of the list while it lives.
struct Registered {
  explicit Registered(std::string its_file) : file(std::move(its_file)) {
    entry = {__jit_debug_descriptor.first, nullptr, file.data(), file.size()};
    __jit_debug_descriptor.first = &entry;
  }
  ~Registered() { __jit_debug_descriptor.first = entry.next; }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;

  std::string file;
  JitCodeEntry entry;
};

// A file with one function of 16 bytes.
inline std::string file_of(const char* name, uint64_t begin, uint16_t type = ET_REL) {
  const auto* const code = reinterpret_cast<const void*>(begin);
  return elf_of_symbols(type, code, 64, {{name, code, 16}});
}

}  // namespace sampan::test
