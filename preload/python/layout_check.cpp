#include "preload/python/layout_check.h"

#include <string.h>

#include <cstddef>
#include <cstdint>

namespace sampan::preload {
namespace {

// An entry of PyTypeObject::tp_members (Include/structmember.h).
struct Member {
  const char* name;
  int type;
  int64_t offset;
  int flags;
  const char* text;
};
constexpr size_t kTypeMembers = 240;  // of tp_members in PyTypeObject
constexpr unsigned kMostMembers = 64;

bool has_member(const Member* members, const char* name, int64_t offset) {
  for (unsigned i = 0; members[i].name != nullptr && i < kMostMembers; ++i) {
    if (strcmp(members[i].name, name) == 0) return members[i].offset == offset;
  }
  return false;
}

bool has_members(const unwind::PythonLayout& layout, const void* code_type) {
  const Member* members = nullptr;
  memcpy(static_cast<void*>(&members), static_cast<const char*>(code_type) + kTypeMembers,
         sizeof(void*));
  const bool has_qualified_name = layout.code_qualified_name != layout.code_name;
  const bool has_lnotab = layout.line_table == wire::PythonLineTable::kLnotab;
  return members != nullptr && has_member(members, "co_consts", layout.code_constants) &&
         has_member(members, "co_names", layout.code_names) &&
         has_member(members, "co_firstlineno", layout.code_first_line) &&
         has_member(members, "co_filename", layout.code_file) &&
         has_member(members, "co_name", layout.code_name) &&
         has_member(members, has_lnotab ? "co_lnotab" : "co_linetable", layout.code_line_table) &&
         (!has_qualified_name || has_member(members, "co_qualname", layout.code_qualified_name));
}

// The places in _Py_DebugOffsets, at the start of _PyRuntime, all 8 bytes wide. Those of a group count
// from the group.
constexpr char kCookie[] = {'x', 'd', 'e', 'b', 'u', 'g', 'p', 'y'};
constexpr size_t kVersion = 8, kIsFreeThreaded = 16;
constexpr size_t kThreadFrame = 32, kThreadDatastack = 56;
constexpr size_t kFramePrevious = 8, kFrameCode = 16, kFrameInstruction = 24;
constexpr size_t kCodeFile = 8, kCodeLineTable = 32, kCodeInstructions = 72;

uint64_t stated(const void* runtime, size_t place) {
  uint64_t value = 0;
  memcpy(&value, static_cast<const char*>(runtime) + place, sizeof value);
  return value;
}

bool has_debug_offsets(const unwind::PythonLayout& layout, const void* runtime) {
  if (runtime == nullptr || memcmp(runtime, kCookie, sizeof kCookie) != 0) return false;
  const struct {
    size_t place;
    uint64_t value;
  } expected[] = {{kIsFreeThreaded, 0},
                  {layout.debug_thread + kThreadFrame, layout.thread_frame},
                  {layout.debug_thread + kThreadDatastack, layout.thread_datastack},
                  {layout.debug_frame + kFramePrevious, layout.frame_previous},
                  {layout.debug_frame + kFrameCode, layout.frame_code},
                  {layout.debug_frame + kFrameInstruction, layout.frame_instruction},
                  {layout.debug_code + kCodeFile, layout.code_file},
                  {layout.debug_code + kCodeLineTable, layout.code_line_table},
                  {layout.debug_code + kCodeInstructions, layout.code_instructions}};
  for (const auto& field : expected) {
    if (stated(runtime, field.place) != field.value) return false;
  }
  return stated(runtime, kVersion) >> 16 == layout.version;
}

}  // namespace

bool is_layout_of(const unwind::PythonLayout& layout, const void* code_type, const void* runtime) {
  return has_members(layout, code_type) &&
         (layout.debug_thread == 0 || has_debug_offsets(layout, runtime));
}

}  // namespace sampan::preload
