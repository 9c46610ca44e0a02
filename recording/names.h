// What the frames of a recording are called: found out by the symbolizer, kept with the recording
// so that it can be read where the binaries are not.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "recording/tables.h"

namespace sampan::recording {

struct NamedFunction {
  uint32_t name = 0;  // into Names::texts, demangled
  uint32_t file = 0;  // of its definition; 0 unknown
  uint32_t line = 0;  // 0 unknown
  uint32_t module = kNone;
};

struct NamedLine {
  uint32_t function = 0;
  uint32_t file = 0;  // 0 unknown
  uint32_t line = 0;  // 0 unknown
};

struct FrameNames {
  uint32_t frame = 0;
  uint32_t line_count = 0;  // of Names::lines, innermost function first
};

// What code that was made at run time was called, in one process and from a time on.
struct JitName {
  uint32_t process = 0;
  uint32_t frame = 0;  // without a module
  uint64_t from_ns = 0;
  uint32_t name = 0;  // into Names::texts
  friend bool operator==(const JitName&, const JitName&) = default;
};

struct Names {
  std::vector<std::string> texts = {""};
  std::vector<NamedFunction> functions;
  std::vector<FrameNames> frames;  // their lines are one after the other, in this order
  std::vector<NamedLine> lines;
  std::vector<JitName> jit;
};

// The same names of the frames of another recording: `frames` and `modules` say, by index here,
// which row there is the same; kNone: none, and the frame is left out. All functions stay.
Names renumbered(Names names, std::span<const uint32_t> frames, std::span<const uint32_t> modules);

// Adds `more` behind `names`: what they say of the same frame counts.
void join(Names more, Names* names);

// Appends names to a recording that is complete, with the functions and texts that they need. What
// a recording says of a frame later counts. Throws Error, and leaves the recording as it was, when
// they cannot be written or it is of another version.
void append_names(const std::string& path, const Names& names);

}  // namespace sampan::recording
