#include "recording/merge.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "recording/combiner.h"

namespace sampan::recording {
namespace {

SessionNs end_of(const Recording& recording) {
  if (recording.end) return recording.end->time_ns;
  SessionNs last_ns = 0;
  for (const Sample& sample : recording.samples) last_ns = std::max(last_ns, sample.time_ns);
  return last_ns;
}

class Merger {
 public:
  void add(const MergeInput& input, uint64_t later_ns) {
    const Recording& from = input.recording;
    add_origins(input);
    Combiner::Places places;
    for (Process row : from.processes) {
      row.start_ns += later_ns;
      places.processes.push_back(combiner_.add(std::move(row)));
    }
    for (Thread row : from.threads) {
      row.process = places.processes[row.process];
      row.start_ns += later_ns;
      places.threads.push_back(combiner_.add(std::move(row)));
    }
    add_losses(from, places);
    add_cost(from, later_ns);
    combiner_.add_rows(from, places, later_ns);
  }

  Recording finish() {
    if (losses_of_nobody_) combiner_.add(*losses_of_nobody_);
    return combiner_.take();
  }

 private:
  void add_origins(const MergeInput& input) {
    const Recording& from = input.recording;
    if (from.origins.empty()) {
      combiner_.combined().origins.push_back({input.label, from.session.host, from.session.program,
                                              from.session.start_unix_ns, from.processes.size()});
      return;
    }
    size_t left = from.processes.size();  // a damaged recording may have fewer than it says
    for (Origin origin : from.origins) {
      origin.label = input.label + "/" + origin.label;
      origin.processes = std::min<uint64_t>(origin.processes, left);
      left -= origin.processes;
      combiner_.combined().origins.push_back(std::move(origin));
    }
    combiner_.combined().origins.back().processes += left;
  }

  // Counters only grow, so the last row of each process counts, and the last one without a process.
  void add_losses(const Recording& from, const Combiner::Places& places) {
    const Losses* of_nobody = nullptr;
    for (Losses row : from.losses) {
      if (row.process == kNone) continue;
      row.process = places.processes[row.process];
      combiner_.add(row);
    }
    for (const Losses& row : from.losses) of_nobody = row.process == kNone ? &row : of_nobody;
    if (of_nobody == nullptr) return;
    if (!losses_of_nobody_) losses_of_nobody_.emplace();
    for (size_t i = 0; i < wire::kLossCount; ++i) {
      losses_of_nobody_->count[i] += of_nobody->count[i];
    }
  }

  // Rates cannot be merged, each recording has its own; costs are summed.
  void add_cost(const Recording& from, uint64_t later_ns) {
    if (from.rates.costs.empty()) return;
    const Cost &first = from.rates.costs.front(), &last = from.rates.costs.back();
    std::vector<Cost>& costs = combiner_.combined().rates.costs;
    if (costs.empty()) costs.resize(2);
    Cost& sum = costs.back();
    sum.time_ns = std::max(sum.time_ns, last.time_ns + later_ns);
    sum.target_ns += last.target_ns - std::min(first.target_ns, last.target_ns);
    sum.in_target_ns += last.in_target_ns - std::min(first.in_target_ns, last.in_target_ns);
    sum.recorder_ns += last.recorder_ns - std::min(first.recorder_ns, last.recorder_ns);
  }

  Combiner combiner_;
  std::optional<Losses> losses_of_nobody_;
};

// What the inputs have in common. Where they differ: the first one's, or a value that covers all.
Session common_session(std::span<const MergeInput> inputs) {
  Session session = inputs.front().recording.session;
  const auto keep_common = [&](auto member, auto other) {
    for (const MergeInput& input : inputs) {
      if (input.recording.session.*member != inputs.front().recording.session.*member) {
        session.*member = other;
      }
    }
  };
  keep_common(&Session::program, std::string("merged"));
  keep_common(&Session::command, std::vector<std::string>{"merged recordings"});
  keep_common(&Session::host, std::string("several"));
  keep_common(&Session::kernel, std::string("several"));
  keep_common(&Session::engine, std::string("several"));
  keep_common(&Session::cpus, std::optional<uint32_t>());
  if (session.host == "several") session.cpus.reset();  // all of them together are not known
  for (const MergeInput& input : inputs) {
    const Session& other = input.recording.session;
    if (other.unit != session.unit) {
      const auto counts = [](const Session& of) { return of.unit.empty() ? "time" : of.unit; };
      throw Error("{} counts {}, and {} counts {}: they cannot be put together",
                  inputs.front().label, counts(session), input.label, counts(other));
    }
    session.start_unix_ns = std::min(session.start_unix_ns, other.start_unix_ns);
    session.rate_hz = std::max(session.rate_hz, other.rate_hz);
    session.kernel_hz = std::max(session.kernel_hz, other.kernel_hz);
    if (other.clock == "wall") session.clock = "wall";
  }
  return session;
}

void add_note(const std::string& label, const std::string& text, std::string* note) {
  *note += (note->empty() ? "" : "; ") + label + ": " + text;
}

// The end is the latest one; the status is the first that is not 0.
void add_end(const MergeInput& input, uint64_t later_ns, SessionEnd* end) {
  const Recording& from = input.recording;
  end->time_ns = std::max(end->time_ns, end_of(from) + later_ns);
  for (const std::string& damage : from.damage) {
    add_note(input.label, "damaged recording: " + damage, &end->note);
  }
  if (!from.end) {
    add_note(input.label, "the recording ends early", &end->note);
    return;
  }
  if (end->exit_status.value_or(0) == 0 && !end->exit_signal) {
    end->exit_status = from.end->exit_status;
    end->exit_signal = from.end->exit_signal;
  }
  end->user_cpu_ns += from.end->user_cpu_ns;
  end->system_cpu_ns += from.end->system_cpu_ns;
  if (!from.end->note.empty()) add_note(input.label, from.end->note, &end->note);
  end->sampling_clocks |= from.end->sampling_clocks;
}

}  // namespace

Align usual_alignment(std::span<const MergeInput> inputs) {
  UnixNs last_start_ns = 0, first_end_ns = UINT64_MAX;
  for (const MergeInput& input : inputs) {
    const Session& session = input.recording.session;
    last_start_ns = std::max(last_start_ns, session.start_unix_ns);
    first_end_ns = std::min(first_end_ns, session.unix_time(end_of(input.recording)));
  }
  return last_start_ns < first_end_ns ? Align::kClock : Align::kStart;
}

Recording merge(std::vector<MergeInput> inputs, Align align) {
  if (inputs.empty()) throw Error("there is no recording to merge");
  const Session session = common_session(inputs);
  SessionEnd end;
  Merger merger;
  for (MergeInput& input : inputs) {
    const uint64_t later_ns =
        align == Align::kClock ? input.recording.session.start_unix_ns - session.start_unix_ns : 0;
    merger.add(input, later_ns);
    add_end(input, later_ns, &end);
    input.recording = {};  // they may be many
  }
  Recording merged = merger.finish();
  merged.session = session;
  merged.end = std::move(end);
  return merged;
}

}  // namespace sampan::recording
