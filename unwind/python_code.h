// A code object of the interpreter: what tells it from others, and its texts.
//
// An address is no identity: a program that makes and drops functions puts another one in the same
// place. So an object is known by its address, all that it points to, and the hash of its name: a
// program may free all of that together, and put all of it in the same places again.
//
//   Memory   as in python_text.h
//
// Freestanding: linked into the target; async-signal-safe.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "unwind/python_layout.h"
#include "unwind/python_text.h"
#include "wire/record.h"

namespace sampan::unwind {

struct CodeObject {
  uint64_t constants, names, file, name, qualified_name, line_table;
  uint64_t name_hash;
  int32_t first_line;

  // _Py_InitCleanup, below a call of a class: its file is its name. No program has written it.
  bool is_internal() const { return file == name; }
};

template <typename Memory>
bool read_code(Memory& memory, const PythonLayout& layout, uint64_t at, CodeObject& code) {
  constexpr uint64_t kStringHash = 24;  // of PyASCIIObject: once it is known, which it is of names
  return memory.read(at + layout.code_constants, code.constants) &&
         memory.read(at + layout.code_names, code.names) &&
         memory.read(at + layout.code_file, code.file) &&
         memory.read(at + layout.code_name, code.name) &&
         memory.read(code.name + kStringHash, code.name_hash) &&
         memory.read(at + layout.code_qualified_name, code.qualified_name) &&
         memory.read(at + layout.code_line_table, code.line_table) &&
         memory.read(at + layout.code_first_line, code.first_line);
}

// Not 0. A sum of products with odd random numbers: unlike a chain of them, they do not wait for each other.
inline uint64_t identity_of(uint64_t at, const CodeObject& code) {
  const uint64_t sum = at * 0x9e3779b97f4a7c15 + code.constants * 0xbf58476d1ce4e5b9 +
                       code.names * 0x94d049bb133111eb + code.file * 0xd6e8feb86659fd93 +
                       code.name * 0xa0761d6478bd642f + code.name_hash * 0xe7037ed1a0b428db +
                       code.qualified_name * 0x8ebc6af09c88c6e3 +
                       code.line_table * 0x589965cc75374cc3 +
                       uint64_t{static_cast<uint32_t>(code.first_line)} * 0x1d8e4e27c47d124f;
  return ((sum ^ sum >> 32) * 0x9e3779b97f4a7c15) | 1;
}

struct CodeTexts {
  PythonBytes name, file, line_table;
};

template <typename Memory>
bool find_line_table(Memory& memory, const PythonLayout& layout, uint64_t object,
                     PythonBytes& table) {
  constexpr uint64_t kBytesSize = 16, kBytesData = 32;
  constexpr uint64_t kMost = wire::kMaxPythonLineTable;
  uint64_t size = 0;
  table.width = static_cast<uint8_t>(layout.line_table);
  if (!memory.read(object + kBytesSize, size)) return false;
  table.at = object + kBytesData;
  table.size = static_cast<uint16_t>(size < kMost ? size : kMost);
  return memory.readable(table.at, table.size);
}

// False where one of them is not readable.
template <typename Memory>
bool find_texts(Memory& memory, const PythonLayout& layout, const CodeObject& code,
                CodeTexts& texts) {
  constexpr uint64_t kMaxText = 1024;  // bytes of a string
  return find_text(memory, layout, code.qualified_name, kMaxText, texts.name) &&
         find_text(memory, layout, code.file, kMaxText, texts.file) &&
         find_line_table(memory, layout, code.line_table, texts.line_table);
}

}  // namespace sampan::unwind
