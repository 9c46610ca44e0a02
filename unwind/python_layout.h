// Where CPython keeps what a stack walk needs, by version: offsets in bytes. The structures are
// internal to the interpreter, so each layout is compared with the running one before it is used
// (preload/python/interpreter.cpp).
//
// Sources: Include/internal/pycore_frame.h, Include/cpython/{code,pystate,unicodeobject}.h of each
// version, builds for x86-64 with the GIL.
//
// Freestanding: linked into the target.
#pragma once

#include <cstdint>

namespace sampan::unwind {

struct PythonLayout {
  uint32_t version;  // PY_VERSION_HEX >> 16: 0x030b is 3.11

  // PyThreadState
  uint16_t thread_frame;      // the innermost frame; with cframes, the innermost cframe
  uint16_t thread_datastack;  // the newest chunk of frames: { previous, size, top }

  // _PyCFrame: one for each run of the eval loop, on the C stack.
  uint16_t cframe_frame;
  uint16_t cframe_previous;  // 0: there are no cframes

  // _PyInterpreterFrame
  uint16_t frame_code;
  uint16_t frame_previous;
  uint16_t frame_instruction;
  // A byte, not 0: the eval loop that runs this frame began with it. 0: there is no such field, and
  // the frames of a run end at a shim frame on the C stack instead.
  uint16_t frame_is_entry;

  // PyCodeObject
  uint16_t code_constants;
  uint16_t code_names;
  uint16_t code_first_line;
  uint16_t code_file;
  uint16_t code_name;
  uint16_t code_qualified_name;
  uint16_t code_line_table;
  uint16_t code_instructions;

  // PyUnicodeObject: where the characters of a compact string begin.
  uint16_t string_ascii;
  uint16_t string_other;
};

inline constexpr PythonLayout kPythonLayouts[] = {
    {.version = 0x030b,
     .thread_frame = 56,
     .thread_datastack = 296,
     .cframe_frame = 8,
     .cframe_previous = 16,
     .frame_code = 32,
     .frame_previous = 48,
     .frame_instruction = 56,
     .frame_is_entry = 68,
     .code_constants = 24,
     .code_names = 32,
     .code_first_line = 72,
     .code_file = 112,
     .code_name = 120,
     .code_qualified_name = 128,
     .code_line_table = 136,
     .code_instructions = 184,
     .string_ascii = 48,
     .string_other = 72},
    {.version = 0x030c,
     .thread_frame = 56,
     .thread_datastack = 232,
     .cframe_frame = 0,
     .cframe_previous = 8,
     .frame_code = 0,
     .frame_previous = 8,
     .frame_instruction = 56,
     .frame_is_entry = 0,
     .code_constants = 24,
     .code_names = 32,
     .code_first_line = 68,
     .code_file = 112,
     .code_name = 120,
     .code_qualified_name = 128,
     .code_line_table = 136,
     .code_instructions = 192,
     .string_ascii = 40,
     .string_other = 56},
    {.version = 0x030d,
     .thread_frame = 72,
     .thread_datastack = 232,
     .cframe_frame = 0,
     .cframe_previous = 0,
     .frame_code = 0,
     .frame_previous = 8,
     .frame_instruction = 56,
     .frame_is_entry = 0,
     .code_constants = 24,
     .code_names = 32,
     .code_first_line = 68,
     .code_file = 112,
     .code_name = 120,
     .code_qualified_name = 128,
     .code_line_table = 136,
     .code_instructions = 200,
     .string_ascii = 40,
     .string_other = 56},
};

inline const PythonLayout* python_layout(uint32_t version) {
  for (const PythonLayout& layout : kPythonLayouts) {
    if (layout.version == version) return &layout;
  }
  return nullptr;
}

}  // namespace sampan::unwind
