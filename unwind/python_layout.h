// Where CPython keeps what a stack walk needs, by version: offsets in bytes. The structures are
// internal to the interpreter, so each layout is compared with the running one before it is used
// (python_layout_check.h).
//
// Sources: Include/internal/pycore_{frame,runtime,interp,gil,ceval_state}.h and
// Include/cpython/{code,pystate,unicodeobject}.h of each version, builds for x86-64 with the GIL.
//
// Freestanding: linked into the target.
#pragma once

#include <cstdint>

#include "wire/record.h"

namespace sampan::unwind {

// What tells which frames one run of the eval loop has: its group.
enum class PythonGroups : uint8_t {
  kFrameObjects,  // one frame for each run (python_frame_objects.h)
  kEntryFrames,   // the frame that the run began with says so
  kShimFrames,    // a frame on the C stack, of no code, follows the last one
};

// Where an object has the values of its attributes, as long as it has no dictionary.
enum class PythonValues : uint8_t {
  kNone,           // not known
  kPointer,        // 32 bytes before it is a pointer to them
  kMarkedPointer,  // 24 bytes before it; one less than their address, to tell it from a dictionary
  kInline,         // behind it, if a flag there says so
};

// Where the threads of an interpreter are, and its lock: above all for those who read it from another
// process.
struct PythonRuntimeLayout {
  // _PyRuntimeState
  uint16_t first_interpreter = 0;
  uint16_t finalizing = 0;      // the state of the thread that ends the interpreter; 0: not known
  uint16_t gil = 0;             // the only one, itself; 0: each interpreter points to one
  uint16_t current_thread = 0;  // the state of the thread that has the GIL; 0: not known

  // PyInterpreterState
  uint16_t next_interpreter = 0;
  uint16_t first_thread = 0;
  uint16_t gil_pointer = 0;  // 0: see `gil`; both 0: not known
  uint16_t modules = 0;      // the dictionary sys.modules

  // PyThreadState
  uint16_t next_thread = 8;
  uint16_t thread_id = 0;         // of pthread_self()
  uint16_t native_thread_id = 0;  // of the kernel; 0: there is none
};

struct PythonLayout {
  uint32_t version;  // PY_VERSION_HEX >> 16: 0x030b is 3.11
  PythonGroups groups;
  wire::PythonLineTable line_table;

  // PyThreadState
  uint16_t thread_frame = 0;   // the innermost frame; 0: the innermost cframe has it
  uint16_t thread_cframe = 0;  // the innermost cframe; 0: there are none
  // The newest chunk of frames: { previous, size, top }. 0: frames are objects of the heap.
  uint16_t thread_datastack = 0;

  // _PyCFrame: one for each run of the eval loop, on the C stack.
  uint16_t cframe_frame = 0;
  uint16_t cframe_previous = 0;

  // _PyInterpreterFrame, PyFrameObject
  uint16_t frame_code;
  uint16_t frame_previous;
  uint16_t frame_instruction;    // of a frame object: an index, in units of `index_bytes`
  uint16_t frame_locals = 0;     // the arguments first; 0: not known
  uint16_t frame_is_entry = 0;   // a byte, not 0: the eval loop that runs this frame began with it
  uint16_t frame_owner = 0;      // a byte: who has the memory
  uint16_t frame_generator = 0;  // of a frame object: whose frame it is
  // In a frame object. Less than 0 while an eval loop runs it; 0: not known.
  uint16_t frame_stack_depth = 0;
  uint16_t frame_state = 0;  // of a frame object, a byte. 0: executing
  uint16_t index_bytes = 0;

  // PyCodeObject
  uint16_t code_constants;
  uint16_t code_names;
  uint16_t code_first_line;
  uint16_t code_file;
  uint16_t code_name;
  uint16_t code_qualified_name;  // that of `code_name` where there is none
  uint16_t code_line_table;
  uint16_t code_instructions = 0;

  // PyUnicodeObject: where the characters of a compact string begin.
  uint16_t string_ascii;
  uint16_t string_other;

  // PyHeapTypeObject: the names of its objects' attributes.
  uint16_t type_keys = 0;
  PythonValues values = PythonValues::kNone;

  // Zeroes where the interpreter itself states them: see runtime_layout().
  PythonRuntimeLayout runtime = {};

  // _Py_DebugOffsets: where the interpreter itself states the offsets of its modules, of its lock, of a
  // thread state, of a frame and of a code object. 0: it does not.
  uint16_t debug_modules = 0;
  uint16_t debug_gil = 0;
  uint16_t debug_thread = 0;
  uint16_t debug_frame = 0;
  uint16_t debug_code = 0;
};

inline constexpr PythonLayout kPythonLayouts[] = {
    {.version = 0x0309,
     .groups = PythonGroups::kFrameObjects,
     .line_table = wire::PythonLineTable::kLnotab,
     .thread_frame = 24,
     .frame_code = 32,
     .frame_previous = 24,
     .frame_instruction = 104,
     .frame_generator = 96,
     .index_bytes = 1,
     .code_constants = 56,
     .code_names = 64,
     .code_first_line = 40,
     .code_file = 104,
     .code_name = 112,
     .code_qualified_name = 112,
     .code_line_table = 120,
     .string_ascii = 48,
     .string_other = 72,
     .runtime = {.first_interpreter = 32,
                 .finalizing = 16,
                 .gil = 352,
                 .current_thread = 568,
                 .first_thread = 8,
                 .modules = 856,
                 .thread_id = 176}},
    {.version = 0x030a,
     .groups = PythonGroups::kFrameObjects,
     .line_table = wire::PythonLineTable::kRanges,
     .thread_frame = 24,
     .thread_cframe = 48,
     .cframe_previous = 8,
     .frame_code = 32,
     .frame_previous = 24,
     .frame_instruction = 96,
     .frame_generator = 88,
     .frame_stack_depth = 80,
     .frame_state = 108,
     .index_bytes = 2,
     .code_constants = 56,
     .code_names = 64,
     .code_first_line = 40,
     .code_file = 104,
     .code_name = 112,
     .code_qualified_name = 112,
     .code_line_table = 120,
     .string_ascii = 48,
     .string_other = 72,
     .runtime = {.first_interpreter = 32,
                 .finalizing = 16,
                 .gil = 352,
                 .current_thread = 568,
                 .first_thread = 8,
                 .modules = 856,
                 .thread_id = 176}},
    {.version = 0x030b,
     .groups = PythonGroups::kEntryFrames,
     .line_table = wire::PythonLineTable::kLocations,
     .thread_cframe = 56,
     .thread_datastack = 296,
     .cframe_frame = 8,
     .cframe_previous = 16,
     .frame_code = 32,
     .frame_previous = 48,
     .frame_instruction = 56,
     .frame_locals = 72,
     .frame_is_entry = 68,
     .frame_owner = 69,
     .code_constants = 24,
     .code_names = 32,
     .code_first_line = 72,
     .code_file = 112,
     .code_name = 120,
     .code_qualified_name = 128,
     .code_line_table = 136,
     .code_instructions = 184,
     .string_ascii = 48,
     .string_other = 72,
     .type_keys = 872,
     .values = PythonValues::kPointer,
     .runtime = {.first_interpreter = 40,
                 .finalizing = 24,
                 .gil = 360,
                 .current_thread = 576,
                 .first_thread = 16,
                 .modules = 888,
                 .thread_id = 152,
                 .native_thread_id = 160}},
    {.version = 0x030c,
     .groups = PythonGroups::kShimFrames,
     .line_table = wire::PythonLineTable::kLocations,
     .thread_cframe = 56,
     .thread_datastack = 232,
     .cframe_frame = 0,
     .cframe_previous = 8,
     .frame_code = 0,
     .frame_previous = 8,
     .frame_instruction = 56,
     .frame_locals = 72,
     .frame_owner = 70,
     .code_constants = 24,
     .code_names = 32,
     .code_first_line = 68,
     .code_file = 112,
     .code_name = 120,
     .code_qualified_name = 128,
     .code_line_table = 136,
     .code_instructions = 192,
     .string_ascii = 40,
     .string_other = 56,
     .type_keys = 880,
     .values = PythonValues::kMarkedPointer,
     .runtime = {.first_interpreter = 40,
                 .finalizing = 24,
                 .first_thread = 72,
                 .gil_pointer = 384,
                 .modules = 944,
                 .thread_id = 136,
                 .native_thread_id = 144}},
    {.version = 0x030d,
     .groups = PythonGroups::kShimFrames,
     .line_table = wire::PythonLineTable::kLocations,
     .thread_frame = 72,
     .thread_datastack = 232,
     .frame_code = 0,
     .frame_previous = 8,
     .frame_instruction = 56,
     .frame_locals = 72,
     .code_constants = 24,
     .code_names = 32,
     .code_first_line = 68,
     .code_file = 112,
     .code_name = 120,
     .code_qualified_name = 128,
     .code_line_table = 136,
     .code_instructions = 200,
     .string_ascii = 40,
     .string_other = 56,
     .type_keys = 880,
     .values = PythonValues::kInline,
     .debug_modules = 88,
     .debug_gil = 112,
     .debug_thread = 152,
     .debug_frame = 224,
     .debug_code = 272},
    {.version = 0x030e,
     .groups = PythonGroups::kShimFrames,
     .line_table = wire::PythonLineTable::kLocations,
     .thread_frame = 72,
     .thread_datastack = 232,
     .frame_code = 0,
     .frame_previous = 8,
     .frame_instruction = 56,
     .frame_locals = 80,
     .code_constants = 24,
     .code_names = 32,
     .code_first_line = 68,
     .code_file = 112,
     .code_name = 120,
     .code_qualified_name = 128,
     .code_line_table = 136,
     .code_instructions = 208,
     .string_ascii = 40,
     .string_other = 56,
     .type_keys = 880,
     .values = PythonValues::kInline,
     .debug_modules = 96,
     .debug_gil = 120,
     .debug_thread = 176,
     .debug_frame = 248,
     .debug_code = 312},
};

inline const PythonLayout* python_layout(uint32_t version) {
  for (const PythonLayout& layout : kPythonLayouts) {
    if (layout.version == version) return &layout;
  }
  return nullptr;
}

}  // namespace sampan::unwind
