// The tables that all threads of a Firefox profile share: stacks of frames of functions of
// libraries, as columns of indexes into each other. Inlined functions are frames of their own, with
// the address of the frame that they are in and a higher inlineDepth.
//
// Built of those stacks only that samples of a view have.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "exporters/firefox_categories.h"
#include "profile/frames.h"
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

  // Of the stack table: for a stack of the profile that samples have, kNone too.
  uint32_t stack(uint32_t stack) const;
  size_t string(std::string_view text);

  std::string libs_json() const;
  // The object `shared`. To be asked for last: it has all strings.
  std::string json() const;
  // About as many bytes as json() has.
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

  std::vector<uint32_t> stacks_;  // by stack of the profile: its innermost frame's
  uint32_t unknown_stack_ = profile::kNone;
  std::vector<uint32_t> frames_;          // by location: the first of its frames, the innermost
  std::vector<uint32_t> functions_;       // by function, then the unknown one
  std::vector<uint32_t> libraries_;       // by module
  std::vector<uint32_t> native_symbols_;  // by function
  std::vector<uint32_t> sources_;         // by string
  std::vector<uint32_t> used_modules_;    // by library
  std::unordered_map<std::string, size_t> strings_;

  uint32_t stack_count_ = 0, frame_count_ = 0, function_count_ = 0, native_symbol_count_ = 0,
           source_count_ = 0;
  FirefoxColumn stack_frame_, stack_prefix_;
  FirefoxColumn frame_address_, frame_depth_, frame_category_, frame_subcategory_, frame_function_,
      frame_symbol_, frame_line_;
  FirefoxColumn function_name_, function_resource_, function_source_, function_line_;
  FirefoxColumn symbol_library_, symbol_address_, symbol_name_;
  FirefoxColumn source_name_, resource_name_, string_text_;
};

}  // namespace sampan::exporters
