#include "recording/kept_stacks.h"

#include "recording/writer.h"

namespace sampan::recording {

uint32_t KeptStacks::copy(uint32_t stack, Writer& writer) {
  std::vector<uint32_t> missing;  // leaf first
  uint32_t row = kNone;
  for (; stack < stacks_.size(); stack = stacks_[stack].prefix) {
    const auto known = stack_copies_.find(stack);
    if (known != stack_copies_.end()) {
      row = known->second;
      break;
    }
    missing.push_back(stack);
  }
  for (; !missing.empty(); missing.pop_back()) {
    row = writer.stack(row, copy_frame(stacks_[missing.back()].frame, writer));
    stack_copies_.emplace(missing.back(), row);
  }
  return row;
}

uint32_t KeptStacks::copy_frame(uint32_t index, Writer& writer) {
  const auto [found, is_new] = frame_copies_.try_emplace(index, kNone);
  if (!is_new) return found->second;
  const auto name = names_.find(index);
  const uint32_t row = name == names_.end() ? writer.frame(frames_[index])
                                            : writer.frame(frames_[index], name->second);
  found->second = row;
  const auto [first, last] = jit_names_.equal_range(index);
  for (auto code = first; code != last; ++code) {
    JitName copied = code->second.row;
    copied.frame = row;
    writer.add(copied, code->second.name);
  }
  return row;
}

}  // namespace sampan::recording
