// The time of a function by source line and by address.
//
// The lines are the rows of flat_table(kLine), so their self times sum to the function's. An
// address has all samples that were taken there while the function was executing, also in code that
// is inlined into it.
//
// A Python function's self time includes what it waits for, and the C code that it calls: as with
// PythonFrames::kPython, whatever frames the profile has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/flat.h"
#include "profile/view.h"

namespace sampan::profile {

struct AnnotatedAddress {
  uint32_t module = kNone;
  uint64_t address = 0;  // lookup SVMA
  Weight self = {};      // executing it
  Weight total = {};     // or calling others from there; once per sample
};

struct Annotation {
  FlatRow function;
  Weight all;                               // of the view
  std::vector<FlatRow> lines;               // by file and line
  std::vector<AnnotatedAddress> addresses;  // by module and address
  std::vector<uint32_t> others;             // functions that match the name as well
  bool is_python = false;
};

// A source file that has lines of the function.
struct Source {
  uint32_t file = 0;                    // string: its path as the program was built
  std::string path = {};                // where it was found; "": nowhere
  std::vector<std::string> lines = {};  // all of it
};

// An instruction of the function.
struct CodeRow {
  uint32_t module = kNone;
  uint64_t address = 0;  // SVMA
  std::string text;
  uint32_t file = 0, line = 0;  // the line of the function it was compiled from; 0 unknown
  Weight self = {}, total = {};
};

// `name` is a function's name, a name without parameters or without namespaces, or a part of it, in
// this order of preference. Among several matches, the function with the most self time is taken.
// Throws Error with the nearest name when there is none.
Annotation annotate(const View& view, const std::string& name);

}  // namespace sampan::profile
