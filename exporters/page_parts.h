// The parts of profile.html's data: columns of numbers, tables, markers, and the header.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/interner.h"
#include "exporters/page_data.h"
#include "exporters/stack_nodes.h"
#include "profile/function_kinds.h"
#include "profile/locks.h"
#include "profile/profile.h"
#include "profile/view.h"

namespace sampan::exporters {

// A column of numbers: small, and quick to read for exporters/page/data/columns.js.
//
//   numbers  the difference to the previous number (of the first: to 0), zigzag-encoded as in
//            Protocol Buffers' sint64, as LEB128
//   flags    a byte each
//   doubles  8 bytes each, IEEE 754, little-endian
//
// They compress well, because repeated numbers become zeros.
class PageColumn {
 public:
  enum class Kind { kNumbers, kFlags, kDoubles };

  explicit PageColumn(std::string_view name, Kind kind = Kind::kNumbers)
      : name_(name), kind_(kind) {}

  void add(int64_t value) {
    ++count_;
    if (kind_ == Kind::kFlags) {
      bytes_ += static_cast<char>(value);
      return;
    }
    const int64_t difference = value - last_;
    last_ = value;
    uint64_t rest =
        static_cast<uint64_t>(difference) << 1 ^ static_cast<uint64_t>(difference >> 63);
    for (; rest >= 0x80; rest >>= 7) bytes_ += static_cast<char>(rest | 0x80);
    bytes_ += static_cast<char>(rest);
  }

  void add_double(double value) {
    ++count_;
    const auto bits = std::bit_cast<uint64_t>(value);
    for (int shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>(bits >> shift);
  }

  const std::string& name() const { return name_; }
  Kind kind() const { return kind_; }
  size_t count() const { return count_; }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string name_;
  Kind kind_;
  size_t count_ = 0;
  int64_t last_ = 0;
  std::string bytes_;
};

// The functions and stacks of a profile: only those that samples have, with handles in the order of
// their first use. Frames with the same function and line, called from the same stack, are one row.
class PageTables {
 public:
  explicit PageTables(const profile::Profile& profile);

  // The row of a stack, new or old; -1 for none.
  int64_t row(uint32_t stack) {
    return stack == profile::kNone ? -1 : int64_t{nodes_.node(stack)} - 1;
  }

  // All rows so far, as columns "stacks.…" and "functions.…". Once, after the last row().
  std::vector<PageColumn> columns();

  // After columns(): what their handles stand for.
  const std::vector<std::string_view>& strings() const { return strings_; }
  const std::vector<uint32_t>& modules() const { return module_handles_.used(); }  // of the profile

 private:
  struct Function {
    uint32_t function;
    profile::FunctionKind kind;
  };

  uint32_t function(const profile::CallNode& node);
  std::vector<PageColumn> stack_columns();
  std::vector<PageColumn> function_columns();
  uint32_t string(uint32_t of_profile);
  int64_t module(uint32_t of_profile);

  const profile::Profile& profile_;
  std::vector<profile::FunctionKind> kinds_;  // by function of the profile
  StackNodes nodes_;
  std::vector<Function> functions_;
  std::vector<std::string_view> strings_ = {""};
  // From handles of the profile to those of the page. Functions have one more, for frames without
  // function; strings that are not on the page are kNone.
  Renumbering function_handles_, module_handles_;
  std::vector<uint32_t> string_handles_;
};

// The markers of a profile: columns "spans.…", "sections.…", "events.…" and "counters.…", and the
// texts that they refer to. Rows are sorted by the page's thread, or by process and name, and then
// by time, so that differences between rows are small.
struct PageMarkers {
  std::vector<std::string_view> texts = {""};
  std::vector<PageColumn> columns;
  std::vector<std::string> notes;  // what was left out
};

// The view's markers that fit into `max_size` bytes.
PageMarkers page_markers(const profile::View& view, uint64_t max_size);

// The waits of a view of locks, by what is told of them: sides of the same lock and functions, once.
struct PageLocks {
  explicit PageLocks(const profile::View& view);

  std::vector<profile::LockRow> table;
  std::vector<profile::LockSides> sides;
  std::vector<uint32_t> labels;  // rows of `sides`, by position in view.samples
};

// The header of the data: everything but its columns, as JSON. `locks`: null where none are shown.
// `notes`: what else the user must know.
std::string page_header(const profile::View& view, const PageSamples& samples,
                        const PageTables& tables, const PageLocks* locks,
                        const std::vector<std::string_view>& marker_texts,
                        const std::vector<const PageColumn*>& columns,
                        const std::vector<std::string>& notes);

}  // namespace sampan::exporters
