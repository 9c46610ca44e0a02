// Where in a function the time goes: by source line, and by address.
//
// The lines' selves add up to the function's self, as they are the rows of flat_table(kLine). An
// address has all that was sampled there while the function was being executed, in code that is
// inlined into it, too.
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
  Weight total = {};     // or in what was called from there; once per sample
};

struct Annotation {
  FlatRow function;
  Weight all;                               // of the view
  std::vector<FlatRow> lines;               // by file and line
  std::vector<AnnotatedAddress> addresses;  // by module and address
  std::vector<uint32_t> others;             // functions that the name fits as well
};

// Of the function with this name; else that without its parameters, or without its namespace; else
// a part of the name. Where it fits several, the one with the most self time. Throws Error with the
// nearest name where it fits none.
Annotation annotate(const View& view, const std::string& name);

}  // namespace sampan::profile
