#include "preload/python/layout_check.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace sampan::preload {
namespace {

struct Member {
  const char* name;
  int type;
  int64_t offset;
  int flags;
  const char* text;
};

// What an interpreter states of itself, as a layout has it.
struct Stated {
  std::vector<Member> members;
  std::array<char, 1024> runtime{};
  std::array<char, 416> code_type{};

  explicit Stated(const unwind::PythonLayout& layout) {
    const bool has_lnotab = layout.line_table == wire::PythonLineTable::kLnotab;
    const bool has_qualified_name = layout.code_qualified_name != layout.code_name;
    members = {{"co_argcount", 0, 16, 0, nullptr},
               {"co_consts", 0, layout.code_constants, 0, nullptr},
               {"co_names", 0, layout.code_names, 0, nullptr},
               {"co_firstlineno", 0, layout.code_first_line, 0, nullptr},
               {"co_filename", 0, layout.code_file, 0, nullptr},
               {"co_name", 0, layout.code_name, 0, nullptr},
               {has_lnotab ? "co_lnotab" : "co_linetable", 0, layout.code_line_table, 0, nullptr},
               {has_qualified_name ? "co_qualname" : "co_other", 0, layout.code_qualified_name, 0,
                nullptr},
               {nullptr, 0, 0, 0, nullptr}};
    std::memcpy(runtime.data(), "xdebugpy", 8);
    put(8, uint64_t{layout.version} << 16 | 0x0af0);
    put(layout.debug_thread + 32, layout.thread_frame);
    put(layout.debug_thread + 56, layout.thread_datastack);
    put(layout.debug_frame + 8, layout.frame_previous);
    put(layout.debug_frame + 16, layout.frame_code);
    put(layout.debug_frame + 24, layout.frame_instruction);
    put(layout.debug_code + 8, layout.code_file);
    put(layout.debug_code + 32, layout.code_line_table);
    put(layout.debug_code + 72, layout.code_instructions);
  }
  void put(size_t place, uint64_t value) {
    std::memcpy(runtime.data() + place, &value, sizeof value);
  }
  bool is(const unwind::PythonLayout& layout) {
    const Member* first = members.data();
    std::memcpy(code_type.data() + 240, &first, sizeof(void*));
    return is_layout_of(layout, code_type.data(), runtime.data());
  }
};

TEST(LayoutCheck, AcceptsWhatTheInterpreterStates) {
  for (const unwind::PythonLayout& layout : unwind::kPythonLayouts) {
    EXPECT_TRUE(Stated(layout).is(layout)) << layout.version;
  }
}

TEST(LayoutCheck, RefusesEveryOtherMember) {
  for (const unwind::PythonLayout& layout : unwind::kPythonLayouts) {
    for (size_t i = 1; Stated(layout).members[i].name != nullptr; ++i) {
      Stated stated(layout);
      if (stated.members[i].name == std::string("co_other")) continue;
      stated.members[i].offset += 8;
      EXPECT_FALSE(stated.is(layout)) << layout.version << " " << stated.members[i].name;
      stated.members[i].offset -= 8;
      stated.members[i].name = "co_gone";
      EXPECT_FALSE(stated.is(layout)) << layout.version << " without member " << i;
    }
  }
}

TEST(LayoutCheck, RefusesOtherDebugOffsets) {
  for (const unwind::PythonLayout& layout : unwind::kPythonLayouts) {
    if (layout.debug_thread == 0) continue;
    for (const size_t place : {size_t{0}, size_t{8}, size_t{16}, layout.debug_thread + size_t{32},
                               layout.debug_thread + size_t{56}, layout.debug_frame + size_t{8},
                               layout.debug_frame + size_t{16}, layout.debug_frame + size_t{24},
                               layout.debug_code + size_t{8}, layout.debug_code + size_t{32},
                               layout.debug_code + size_t{72}}) {
      Stated stated(layout);
      stated.put(place, 0x01230123);
      EXPECT_FALSE(stated.is(layout)) << layout.version << ", place " << place;
    }
    EXPECT_FALSE(is_layout_of(layout, Stated(layout).code_type.data(), nullptr));
  }
}

TEST(LayoutCheck, TellsTheVersionsApart) {
  for (const unwind::PythonLayout& layout : unwind::kPythonLayouts) {
    for (const unwind::PythonLayout& other : unwind::kPythonLayouts) {
      // 3.12 shares its members with 3.13, which has more to say.
      if (layout.version == other.version || other.version == 0x030c) continue;
      EXPECT_FALSE(Stated(layout).is(other)) << layout.version << " as " << other.version;
    }
  }
}

}  // namespace
}  // namespace sampan::preload
