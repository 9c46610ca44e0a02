// The sampled allocations of one process and their frees, as rows of the recording.
//
// The rings of the threads are read one after the other, so a free by another thread may be read before its
// allocation: it waits for it, one round of reading at most. A free of an unknown allocation makes no row.
//
// Errors: throws Error when the recording cannot be written.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "recording/writer.h"
#include "wire/loss.h"

namespace sampan::sampler {

class HeapRecorder {
 public:
  explicit HeapRecorder(recording::Writer& writer) : writer_(writer) {}

  // Both return what is lost, if anything: of too many at a time, or with an id that another one has.
  std::optional<wire::Loss> add(const recording::Allocation& allocation);
  std::optional<wire::Loss> add(const recording::Free& row);
  // The same for a free that has neither its thread nor its stack (wire/late_frees.h): its row has the thread of the
  // allocation.
  std::optional<wire::Loss> add_late(uint64_t id, SessionNs time_ns);
  // All rings have been read once.
  void end_round();

 private:
  // More than a process can have at a time (preload/wrappers).
  static constexpr size_t kMostLive = size_t{1} << 21;
  static constexpr size_t kMostWaiting = size_t{1} << 16;

  struct Waiting {
    recording::Free row;
    uint64_t generation;  // of the writer's files: its stack is of that
    bool is_old;          // it has waited for a round
  };

  bool write(const Waiting& waiting);

  recording::Writer& writer_;
  std::unordered_map<uint64_t, uint32_t>
      live_;  // thread of each allocation that is not freed yet, by id
  std::vector<Waiting> waiting_;
};

}  // namespace sampan::sampler
