// The names of a recording's frames. The symbolizer finds them; they are stored in the recording,
// so that it can be read on machines without the binaries.
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
  uint32_t file = 0;    // 0 unknown
  uint32_t line = 0;    // 0 unknown
  uint32_t column = 0;  // in bytes of UTF-8, from 1; 0 unknown
};

struct FrameNames {
  uint32_t frame = 0;
  uint32_t line_count = 0;  // of Names::lines, innermost function first
};

// What a frame of an interpreter is called: known when it is recorded, not found by the symbolizer.
struct FrameName {
  std::string function;
  std::string file;
  uint32_t first_line = 0;  // of the function; 0 unknown
  uint32_t line = 0;        // 0 unknown
  uint32_t column = 0;      // as of NamedLine
};

struct Names {
  std::vector<std::string> texts = {""};
  std::vector<NamedFunction> functions;
  std::vector<FrameNames> frames;  // their lines follow each other in this order
  std::vector<NamedLine> lines;
  std::vector<JitName> jit;
};

// The names for another recording: `frames` and `modules` have the new index for each index here.
// Frames whose new index is kNone are left out; all functions stay.
Names renumbered(Names names, std::span<const uint32_t> frames, std::span<const uint32_t> modules);

// The same names without the functions and texts that no frame needs, and without Names::jit.
Names needed(const Names& names);

// Appends `more` to `names`. For frames that both name, `more` counts.
void join(Names more, Names* names);

// Names a frame that no name is known of yet.
void add_name(uint32_t frame, const FrameName& name, Names* names);

// Appends names to a complete recording, with the functions and texts that they need. For a frame
// that is named twice, the last name counts. Throws Error, and leaves the recording as it was, when
// the names cannot be written or the recording has another version.
void append_names(const std::string& path, const Names& names);

}  // namespace sampan::recording
