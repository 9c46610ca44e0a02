// Combines the rows of several recordings into one. Equal modules, frames, stacks, waits, contexts, locks and texts
// become one row; for processes and threads the caller says which are the same.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/interner.h"
#include "recording/codec.h"
#include "recording/reader.h"

namespace sampan::recording {

class Combiner {
 public:
  // The combined rows for the rows of an input; kNone: everything about that row is left out.
  struct Places {
    std::vector<uint32_t> processes, threads;
  };

  uint32_t add(Process row);
  uint32_t add(Thread row);
  void add(const Losses& row) { combined_.losses.push_back(row); }
  // Adds all other rows of `from` except session, end, origins and losses. `later_ns` is added to
  // their times.
  void add_rows(const Recording& from, const Places& places, uint64_t later_ns);

  // So far; its modules, frames, stacks, waits, contexts, locks and texts are missing until take().
  Recording& combined() { return combined_; }
  // To be completed by the caller with what add_rows() leaves out.
  Recording take();
  // The same for the rows since the last call only, without names: names() has those of all rows.
  Recording take_new();
  const Names& names() const { return combined_.names; }

 private:
  void add_lives(const Recording& from, const Places& places, uint64_t later_ns);
  // The combined rows for the modules, frames and stacks of an input.
  struct Code {
    std::vector<uint32_t> modules, frames, stacks;
  };
  Code add_code(const Recording& from);
  void add_samples(const Recording& from, const Places& places, const Code& code,
                   uint64_t later_ns);
  void add_blocks(const Recording& from, const Places& places, const Code& code, uint64_t later_ns);
  void add_locks(const Recording& from, const Places& places, const Code& code, uint64_t later_ns);
  void add_jit_names(const Recording& from, const std::vector<uint32_t>& frames,
                     const Places& places, uint64_t later_ns);
  void add_names(const Recording& from, std::vector<uint32_t> frames,
                 const std::vector<uint32_t>& modules);
  void add_markers(const Markers& from, const Places& places, uint64_t later_ns);

  Recording combined_;
  RowCounts taken_;  // by take_new()
  Interner<Module> modules_;
  Interner<Frame> frames_;
  Interner<Stack> stacks_;
  Interner<Wait> waits_;
  Interner<Lock> locks_;
  Interner<TraceContext> contexts_;  // since the last take_new(), as texts_
  TextTable<> texts_;
  std::vector<bool> named_;  // by frame
};

// A row of markers with its name and text renumbered by `text`.
template <typename Row, typename Text>
Row with_texts(Row row, const Text& text) {
  if constexpr (requires { row.name; }) row.name = text(row.name);
  if constexpr (requires { row.text; }) row.text = text(row.text);
  return row;
}

// The new number of a row; kNone stays kNone.
inline uint32_t mapped(uint32_t index, const std::vector<uint32_t>& to) {
  return index == kNone ? kNone : to[index];
}

}  // namespace sampan::recording
