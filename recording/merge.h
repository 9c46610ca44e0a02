// Merges several recordings into one: runs of the same program, ranks of a job, hosts of a service.
//
// Recording::origins says which recording each process is from. Modules, frames, stacks and waits
// that the recordings have in common become one row. An input that was merged itself keeps its
// origins, with its label before theirs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "recording/alignment.h"
#include "recording/combiner.h"
#include "recording/reader.h"

namespace sampan::recording {

struct MergeInput {
  std::string label;
  Recording recording;
};

// The facts about an input that merging needs beside its tables.
struct MergeHead {
  std::string label;
  Session session;
  std::optional<SessionEnd> end;
  SessionNs end_ns = 0;  // without an end, of the last sample
  std::vector<Origin> origins;
  uint64_t processes = 0;
  std::vector<std::string> damage;
  std::vector<Mark> marks;
};
// `marker`: the name of its marks; "": they are not needed.
MergeHead head_of(const std::string& label, const Recording& recording,
                  const std::string& marker = "");

Alignment align(std::span<const MergeHead> heads, std::optional<Align> how);

// The session of the merged recording. Where the inputs differ, it has the first one's value or one that covers all. All
// inputs count the same unit.
Session common_session(std::span<const MergeHead> heads);
std::vector<Origin> merged_origins(std::span<const MergeHead> heads);
// The end is the latest one; the status is the first that is not 0. The note names inputs that are damaged or have no
// end, and says how well marks aligned them.
SessionEnd merged_end(std::span<const MergeHead> heads, const Alignment& alignment);

// The rows of the inputs, one after another.
class Merger {
 public:
  void add(const Recording& from, uint64_t later_ns);
  // The rows that are new, see Combiner::take_new().
  Recording take_new() { return combiner_.take_new(); }
  // The sums, complete after the last input: losses of no process, and costs. There are no rates, because each recording
  // has its own.
  Recording take_sums();
  const Names& names() const { return combiner_.names(); }
  // All at once, instead of the above.
  Recording take();

 private:
  void add_losses(const Recording& from, const Combiner::Places& places);
  void add_cost(const Recording& from, uint64_t later_ns);

  Combiner combiner_;
  std::optional<Losses> losses_of_nobody_;
  std::vector<Cost> costs_;
};

// At least one input; `how` as of align(). Throws Error when they count different units.
Recording merge(std::vector<MergeInput> inputs, std::optional<Align> how);

}  // namespace sampan::recording
