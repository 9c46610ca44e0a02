// Where asyncio's tasks keep what the handler needs, by version: offsets in bytes. Each of them was
// read in an interpreter of that version; what is found there is checked by the names of types.
//
// Sources: Modules/_asynciomodule.c, Include/cpython/genobject.h,
// Include/internal/pycore_{frame,interpframe_structs}.h of each version.
//
// Freestanding: linked into the target.
#pragma once

#include <cstdint>

namespace sampan::preload {

struct AsyncioLayout {
  uint32_t version;              // as of unwind::PythonLayout
  uint16_t task_name;            // TaskObj: a string; 3.12 and later: also a number, of "Task-1"
  uint16_t task_coroutine;       //
  uint16_t coroutine_name;       // PyCoroObject: qualified
  uint16_t frame_locals;         // _PyInterpreterFrame, PyFrameObject
  uint16_t frame_owner;          // a byte; 0: frames know their generator (PythonLayout)
  uint16_t coroutine_frame = 0;  // PyCoroObject: its frame is a part of it
};

inline constexpr AsyncioLayout kAsyncioLayouts[] = {
    {0x0309, 160, 152, 56, 360, 0},     {0x030a, 168, 160, 48, 352, 0},
    {0x030b, 144, 136, 40, 72, 69, 80}, {0x030c, 144, 136, 32, 72, 70, 72},
    {0x030d, 128, 120, 32, 72, 70, 72}, {0x030e, 136, 128, 32, 80, 74, 72},
};

// Every version that has a PythonLayout has one.
inline const AsyncioLayout& asyncio_layout(uint32_t version) {
  for (const AsyncioLayout& layout : kAsyncioLayouts) {
    if (layout.version == version) return layout;
  }
  return kAsyncioLayouts[0];
}

}  // namespace sampan::preload
