// The sampled blocks of a session that live, in its Writer: each file begins with them, so that it
// shows the live heap by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "recording/tables.h"

namespace sampan::recording {

// Processes and threads are the Writer's handles, stacks are rows of its present file.
class LivingBlocks {
 public:
  explicit LivingBlocks(size_t most = kMost) : most_(most) {}

  // Not kept when there are too many.
  void add(uint32_t process, const Allocation& block);
  void free(uint32_t process, uint64_t id);
  void end(uint32_t process);
  // How many living blocks of the process were not kept since the last call.
  uint64_t take_dropped(uint32_t process);

  // With their processes, by process and then by time. Valid until the next call of another function.
  std::vector<std::pair<uint32_t, Allocation*>> rows();

 private:
  // At the usual mean of 512 KiB, these are 512 GiB of memory; they take 100 MB.
  static constexpr size_t kMost = size_t{1} << 20;

  struct OfProcess {
    std::unordered_map<uint64_t, Allocation> rows;  // by id
    uint64_t dropped = 0;
  };

  size_t most_, count_ = 0;
  std::map<uint32_t, OfProcess> processes_;
};

}  // namespace sampan::recording
