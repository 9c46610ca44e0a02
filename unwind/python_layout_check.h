// Whether a layout is that of an interpreter, by what the interpreter states of itself: the members of
// a code object (all versions), and the offsets that it keeps for debuggers (3.13 and later). Nothing
// is called in it.
//
//   Memory   bool read(uint64_t avma, T& value): false where there is no memory
//
// Freestanding: linked into the target. Ordinary context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "unwind/python_layout.h"

namespace sampan::unwind {

template <typename Memory>
class PythonLayoutCheck {
 public:
  // `code_type`: PyCode_Type. `runtime`: _PyRuntime, or 0. Addresses in `memory`.
  PythonLayoutCheck(Memory& memory, const PythonLayout& layout, uint64_t code_type,
                    uint64_t runtime)
      : memory_(memory), layout_(layout), code_type_(code_type), runtime_(runtime) {}

  bool holds() const { return has_members() && (layout_.debug_thread == 0 || has_debug_offsets()); }

  // The layout of the runtime, stated by the interpreter or known. False: what it states cannot be.
  bool runtime_layout(PythonRuntimeLayout& runtime) const {
    runtime = layout_.runtime;
    if (layout_.debug_thread == 0) return true;
    return take(kFinalizing, runtime.finalizing) &&
           take(kFirstInterpreter, runtime.first_interpreter) &&
           take(kNextInterpreter, runtime.next_interpreter) &&
           take(kFirstThread, runtime.first_thread) &&
           take(layout_.debug_modules, runtime.modules) &&
           take(layout_.debug_gil, runtime.gil_pointer) &&
           take(layout_.debug_thread + kNextThread, runtime.next_thread) &&
           take(layout_.debug_thread + kThreadId, runtime.thread_id) &&
           take(layout_.debug_thread + kNativeThreadId, runtime.native_thread_id);
  }

 private:
  // An entry of PyTypeObject::tp_members (Include/structmember.h): { name, type, offset, … }.
  static constexpr uint64_t kTypeMembers = 240;  // of tp_members in PyTypeObject
  static constexpr uint64_t kMemberSize = 40, kMemberOffset = 16;
  static constexpr unsigned kMostMembers = 64;

  // The places in _Py_DebugOffsets, at the start of _PyRuntime, all 8 bytes wide. Those of a thread
  // state, of a frame and of a code object count from their group.
  static constexpr std::string_view kCookie = "xdebugpy";
  static constexpr uint64_t kVersion = 8, kIsFreeThreaded = 16;
  static constexpr uint64_t kFinalizing = 32, kFirstInterpreter = 40, kNextInterpreter = 64,
                            kFirstThread = 72;
  static constexpr uint64_t kNextThread = 16, kThreadFrame = 32, kThreadId = 40,
                            kNativeThreadId = 48, kThreadDatastack = 56;
  static constexpr uint64_t kFramePrevious = 8, kFrameCode = 16, kFrameInstruction = 24;
  static constexpr uint64_t kCodeFile = 8, kCodeLineTable = 32, kCodeInstructions = 72;
  // No structure of an interpreter is larger than that.
  static constexpr uint64_t kLargestOffset = UINT16_MAX;

  uint64_t word(uint64_t at) const {
    uint64_t value = 0;
    return memory_.read(at, value) ? value : 0;
  }

  bool is_text(uint64_t at, std::string_view expected) const {
    for (size_t i = 0; i <= expected.size(); ++i) {
      char character = 0;
      if (!memory_.read(at + i, character)) return false;
      if (character != (i < expected.size() ? expected[i] : '\0')) return false;
    }
    return true;
  }

  bool has_member(uint64_t members, std::string_view name, uint64_t offset) const {
    for (unsigned i = 0; i < kMostMembers; ++i) {
      const uint64_t member = members + i * kMemberSize;
      const uint64_t its_name = word(member);
      if (its_name == 0) return false;
      if (is_text(its_name, name)) return word(member + kMemberOffset) == offset;
    }
    return false;
  }

  bool has_members() const {
    const uint64_t members = word(code_type_ + kTypeMembers);
    const bool has_qualified_name = layout_.code_qualified_name != layout_.code_name;
    const bool has_lnotab = layout_.line_table == wire::PythonLineTable::kLnotab;
    return members != 0 && has_member(members, "co_consts", layout_.code_constants) &&
           has_member(members, "co_names", layout_.code_names) &&
           has_member(members, "co_firstlineno", layout_.code_first_line) &&
           has_member(members, "co_filename", layout_.code_file) &&
           has_member(members, "co_name", layout_.code_name) &&
           has_member(members, has_lnotab ? "co_lnotab" : "co_linetable",
                      layout_.code_line_table) &&
           (!has_qualified_name || has_member(members, "co_qualname", layout_.code_qualified_name));
  }

  bool has_cookie() const {
    for (size_t i = 0; i < kCookie.size(); ++i) {
      char character = 0;
      if (!memory_.read(runtime_ + i, character) || character != kCookie[i]) return false;
    }
    return true;
  }

  bool has_debug_offsets() const {
    if (runtime_ == 0 || !has_cookie()) return false;
    const struct {
      uint64_t place;
      uint64_t value;
    } expected[] = {{kIsFreeThreaded, 0},
                    {layout_.debug_thread + kThreadFrame, layout_.thread_frame},
                    {layout_.debug_thread + kThreadDatastack, layout_.thread_datastack},
                    {layout_.debug_frame + kFramePrevious, layout_.frame_previous},
                    {layout_.debug_frame + kFrameCode, layout_.frame_code},
                    {layout_.debug_frame + kFrameInstruction, layout_.frame_instruction},
                    {layout_.debug_code + kCodeFile, layout_.code_file},
                    {layout_.debug_code + kCodeLineTable, layout_.code_line_table},
                    {layout_.debug_code + kCodeInstructions, layout_.code_instructions}};
    for (const auto& field : expected) {
      uint64_t stated = 0;
      if (!memory_.read(runtime_ + field.place, stated) || stated != field.value) return false;
    }
    return word(runtime_ + kVersion) >> 16 == layout_.version;
  }

  bool take(uint64_t place, uint16_t& offset) const {
    uint64_t stated = 0;
    if (!memory_.read(runtime_ + place, stated) || stated > kLargestOffset) return false;
    offset = static_cast<uint16_t>(stated);
    return true;
  }

  Memory& memory_;
  const PythonLayout& layout_;
  uint64_t code_type_;
  uint64_t runtime_;
};

}  // namespace sampan::unwind
