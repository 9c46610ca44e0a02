#include "recording/merge.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace sampan::recording {
namespace {

void add_note(const std::string& label, const std::string& text, std::string* note) {
  *note += (note->empty() ? "" : "; ") + label + ": " + text;
}

void add_end(const MergeHead& from, uint64_t later_ns, SessionEnd* end) {
  end->time_ns = std::max(end->time_ns, from.end_ns + later_ns);
  for (const std::string& damage : from.damage) {
    add_note(from.label, "damaged recording: " + damage, &end->note);
  }
  if (!from.end) {
    add_note(from.label, "the recording ends early", &end->note);
    return;
  }
  if (end->exit_status.value_or(0) == 0 && !end->exit_signal) {
    end->exit_status = from.end->exit_status;
    end->exit_signal = from.end->exit_signal;
  }
  end->user_cpu_ns += from.end->user_cpu_ns;
  end->system_cpu_ns += from.end->system_cpu_ns;
  end->sampling_clocks |= from.end->sampling_clocks;
  if (!from.end->note.empty()) add_note(from.label, from.end->note, &end->note);
}

}  // namespace

MergeHead head_of(const std::string& label, const Recording& recording, const std::string& marker) {
  MergeHead head{label,
                 recording.session,
                 recording.end,
                 0,
                 recording.origins,
                 recording.processes.size(),
                 recording.damage,
                 marker.empty() ? std::vector<Mark>() : marks_of(recording, marker)};
  if (recording.end) {
    head.end_ns = recording.end->time_ns;
  } else {
    for (const Sample& sample : recording.samples) {
      head.end_ns = std::max(head.end_ns, sample.time_ns);
    }
  }
  return head;
}

Alignment align(std::span<const MergeHead> heads, std::optional<Align> how) {
  std::vector<Timing> timings;
  for (const MergeHead& head : heads) {
    const Session& session = head.session;
    timings.push_back({session.host, session.start_unix_ns, session.unix_time(head.end_ns),
                       session.clock_error_ns, head.marks});
  }
  return align(timings, how);
}

Session common_session(std::span<const MergeHead> heads) {
  Session session = heads.front().session;
  const auto keep_common = [&](auto member, auto other) {
    for (const MergeHead& head : heads) {
      if (head.session.*member != heads.front().session.*member) session.*member = other;
    }
  };
  keep_common(&Session::program, std::string("merged"));
  keep_common(&Session::command, std::vector<std::string>{"merged recordings"});
  keep_common(&Session::host, std::string("several"));
  keep_common(&Session::kernel, std::string("several"));
  keep_common(&Session::engine, std::string("several"));
  keep_common(&Session::cpus, std::optional<uint32_t>());
  keep_common(&Session::clock_error_ns, std::optional<uint64_t>());
  std::erase_if(session.labels, [&](const auto& label) {
    return std::ranges::any_of(heads, [&](const MergeHead& head) {
      return head.session.label(label.first) != label.second;
    });
  });
  if (session.host == "several") session.cpus.reset();  // all of them together are not known
  for (const MergeHead& head : heads) {
    const Session& other = head.session;
    session.start_unix_ns = std::min(session.start_unix_ns, other.start_unix_ns);
    session.rate_hz = std::max(session.rate_hz, other.rate_hz);
    session.kernel_hz = std::max(session.kernel_hz, other.kernel_hz);
    if (other.clock == "wall") session.clock = "wall";
  }
  return session;
}

std::vector<Origin> merged_origins(std::span<const MergeHead> heads) {
  std::vector<Origin> origins;
  for (const MergeHead& head : heads) {
    const Session& session = head.session;
    if (head.origins.empty()) {
      origins.push_back(
          {head.label, session.host, session.program, session.start_unix_ns, head.processes});
      continue;
    }
    uint64_t left = head.processes;  // a damaged recording may have fewer than it says
    for (Origin origin : head.origins) {
      origin.label = head.label + "/" + origin.label;
      origin.processes = std::min(origin.processes, left);
      left -= origin.processes;
      origins.push_back(std::move(origin));
    }
    origins.back().processes += left;
  }
  return origins;
}

SessionEnd merged_end(std::span<const MergeHead> heads, const Alignment& alignment) {
  SessionEnd end;
  for (size_t i = 0; i < heads.size(); ++i) add_end(heads[i], alignment.later_ns[i], &end);
  if (alignment.how == Align::kMarks) add_note("times", words(alignment), &end.note);
  return end;
}

void Merger::add(const Recording& from, uint64_t later_ns) {
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

// Counters only grow, so the last row of each process counts, and the last one without a process.
void Merger::add_losses(const Recording& from, const Combiner::Places& places) {
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

void Merger::add_cost(const Recording& from, uint64_t later_ns) {
  if (from.rates.costs.empty()) return;
  const Cost &first = from.rates.costs.front(), &last = from.rates.costs.back();
  if (costs_.empty()) costs_.resize(2);
  Cost& sum = costs_.back();
  sum.time_ns = std::max(sum.time_ns, last.time_ns + later_ns);
  sum.target_ns += last.target_ns - std::min(first.target_ns, last.target_ns);
  sum.in_target_ns += last.in_target_ns - std::min(first.in_target_ns, last.in_target_ns);
  sum.recorder_ns += last.recorder_ns - std::min(first.recorder_ns, last.recorder_ns);
}

Recording Merger::take_sums() {
  Recording sums;
  if (losses_of_nobody_) sums.losses.push_back(*losses_of_nobody_);
  sums.rates.costs = std::move(costs_);
  return sums;
}

Recording Merger::take() {
  Recording sums = take_sums();
  for (const Losses& row : sums.losses) combiner_.add(row);
  Recording merged = combiner_.take();
  merged.rates = std::move(sums.rates);
  return merged;
}

Recording merge(std::vector<MergeInput> inputs, std::optional<Align> how) {
  if (inputs.empty()) throw Error("there is no recording to merge");
  std::vector<MergeHead> heads;
  for (const MergeInput& input : inputs) heads.push_back(head_of(input.label, input.recording));
  for (const MergeHead& head : heads) {
    if (head.session.unit == heads.front().session.unit) continue;
    throw Error("{} counts {}, and {} counts {}: they cannot be put together", heads.front().label,
                heads.front().session.counted(), head.label, head.session.counted());
  }
  const Alignment alignment = align(heads, how);
  Merger merger;
  for (size_t i = 0; i < inputs.size(); ++i) {
    merger.add(inputs[i].recording, alignment.later_ns[i]);
    inputs[i].recording = {};
  }
  Recording merged = merger.take();
  merged.session = common_session(heads);
  merged.session.start_unix_ns = alignment.start_ns;
  merged.origins = merged_origins(heads);
  merged.end = merged_end(heads, alignment);
  return merged;
}

}  // namespace sampan::recording
