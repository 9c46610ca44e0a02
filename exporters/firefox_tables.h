// The tables that all threads of a Firefox profile share: stacks, frames, functions and libraries,
// as columns of indexes into each other. Inlined functions have frames of their own, with the
// address of the enclosing frame and a higher inlineDepth.
//
// They have only the stacks of the view's samples.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/interner.h"
#include "base/units.h"
#include "exporters/firefox_categories.h"
#include "profile/frames.h"
#include "profile/function_kinds.h"
#include "profile/view.h"

namespace sampan::exporters {

// One column of a table, as JSON: `1,2,null,4`.
class FirefoxColumn {
 public:
  void add(uint64_t number);
  void add(std::optional<uint64_t> number);  // null when absent
  void add_text(std::string_view json);      // as it is
  const std::string& text() const { return text_; }

 private:
  void separate();
  std::string text_;
};

class FirefoxTables {
 public:
  FirefoxTables(const profile::View& view, const FirefoxCategories& categories);

  // The row of the stack table for a stack of the view's samples, or for kNone.
  uint32_t stack(uint32_t stack) const;
  size_t string(std::string_view text);
  bool has_python() const { return has_python_; }

  std::string libs_json() const;
  // The object `shared`. Call it last, because it has all strings.
  std::string json() const;
  // About the size of json(), in bytes.
  uint64_t size() const;

 private:
  uint32_t add_stack(uint32_t frame, uint32_t prefix);
  uint32_t first_frame(uint32_t location);
  uint32_t function(uint32_t function);
  uint32_t library(uint32_t module);
  uint32_t native_symbol(uint32_t function, uint32_t library, uint64_t address);
  uint32_t source(uint32_t file);

  const profile::Profile& profile_;
  const FirefoxCategories& categories_;
  std::vector<profile::FunctionKind> kinds_;  // by function

  std::vector<uint32_t> stacks_;  // by stack of the profile: its innermost frame's
  uint32_t unknown_stack_ = profile::kNone;
  std::vector<uint32_t> frames_;  // by location: the first of its frames, the innermost
  Renumbering functions_;         // the last stands for unknown ones
  Renumbering libraries_;         // modules
  Renumbering native_symbols_;    // functions
  Renumbering sources_;           // strings
  Interner<std::string> strings_;

  uint32_t stack_count_ = 0, frame_count_ = 0;
  bool has_python_ = false;
  FirefoxColumn stack_frame_, stack_prefix_;
  FirefoxColumn frame_address_, frame_depth_, frame_category_, frame_subcategory_, frame_function_,
      frame_symbol_, frame_line_, frame_column_;
  FirefoxColumn function_name_, function_resource_, function_source_, function_line_,
      function_is_js_;
  FirefoxColumn symbol_library_, symbol_address_, symbol_name_;
  FirefoxColumn source_name_, resource_name_, string_text_;
};

// Milliseconds with six digits: exact.
inline std::string milliseconds(uint64_t ns) {
  std::string text(fmt::format_int(ns / kNsPerMs).str());
  if (ns % kNsPerMs == 0) return text;
  text += fmt::format(".{:06}", ns % kNsPerMs);
  text.resize(text.find_last_not_of('0') + 1);
  return text;
}

}  // namespace sampan::exporters
