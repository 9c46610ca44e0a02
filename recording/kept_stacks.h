// The frames and stacks of a Writer's present file, for what is written again in the next one.
// Their modules and processes are the Writer's handles.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "recording/names.h"
#include "recording/tables.h"

namespace sampan::recording {

class Writer;

class KeptStacks {
 public:
  // Rows come in the order of their indexes; one that is known already changes nothing.
  void add(uint32_t index, const Frame& frame) {
    if (index == frames_.size()) frames_.push_back(frame);
  }
  void add(uint32_t index, const Stack& stack) {
    if (index == stacks_.size()) stacks_.push_back(stack);
  }
  void name(uint32_t frame, const FrameName& name) { names_.insert_or_assign(frame, name); }
  void name(const JitName& row, std::string_view name) {
    jit_names_.emplace(row.frame, NamedCode{row, std::string(name)});
  }

  std::optional<Frame> frame(uint32_t index) const {
    return index < frames_.size() ? std::optional(frames_[index]) : std::nullopt;
  }

  // The row of this stack in the present file of `writer`, a later one; kNone stays kNone.
  uint32_t copy(uint32_t stack, Writer& writer);

 private:
  struct NamedCode {
    JitName row;
    std::string name;
  };

  uint32_t copy_frame(uint32_t index, Writer& writer);

  std::vector<Frame> frames_;
  std::vector<Stack> stacks_;
  std::unordered_map<uint32_t, FrameName> names_;           // by frame
  std::unordered_multimap<uint32_t, NamedCode> jit_names_;  // by frame
  std::unordered_map<uint32_t, uint32_t> frame_copies_, stack_copies_;
};

}  // namespace sampan::recording
