#include "remote/serve/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "base/time.h"
#include "base/utf8.h"
#include "profile/load.h"
#include "recording/tables.h"

namespace sampan::serve {
namespace {

using recording::kNone;

// Limits distinct names of threads and of spans. Further names are counted together as kOthers.
constexpr size_t kMaxNames = 1000;
constexpr const char* kOthers = "(others)";

// The row of a name, or of kOthers if there are too many.
template <typename Row>
Row& row_of(std::map<std::string, Row>& rows, const std::string& name) {
  const bool has_room = rows.size() < kMaxNames || rows.contains(name);
  return rows[has_room ? name : kOthers];
}

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// The last name of each thread.
std::vector<std::string> thread_names(const recording::Recording& recording) {
  std::vector<std::string> names;
  for (const recording::Thread& thread : recording.threads) names.push_back(thread.name);
  for (const recording::ThreadName& row : recording.thread_names) names[row.thread] = row.name;
  return names;
}

class Text {
 public:
  void metric(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  }
  // `labels`: such as `state="cpu"`, or "".
  template <typename Number>
  void value(const std::string& labels, Number number) {
    const std::string braces = labels.empty() ? "" : "{" + labels + "}";
    text_ += fmt::format("{}{} {}\n", name_, braces, number);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string name_;
  std::string text_;
};

std::string label(std::string_view name, std::string_view value) {
  return fmt::format("{}=\"{}\"", name, escape_label(value));
}

}  // namespace

std::string escape_label(std::string_view text) {
  std::string escaped;
  for (const char c : valid_utf8(text)) {
    if (c == '\\' || c == '"') escaped += '\\';
    if (c == '\n') {
      escaped += "\\n";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string Metrics::collect(Source& source) {
  const std::lock_guard lock(mutex_);
  const SessionNs now_ns = source.now_ns();
  recording::Recording recording = source.read(seen_ns_, now_ns);
  add(recording, seen_ns_, now_ns);
  add_watched(std::move(recording), now_ns);
  seen_ns_ = now_ns;
  return text(source.cost());
}

void Metrics::add(const recording::Recording& recording, SessionNs from_ns, SessionNs to_ns) {
  asked_hz_ = recording.session.rate_hz;
  const recording::Rates& rates = recording.rates;
  if (rate_hz_ == 0) rate_hz_ = asked_hz_;
  if (!rates.changes.empty()) rate_hz_ = rates.changes.back().rate_hz;
  if (!rates.costs.empty())
    in_target_ns_ = std::max(in_target_ns_, rates.costs.back().in_target_ns);
  const std::vector<std::string> names = thread_names(recording);
  const auto thread_of = [&](uint32_t thread) -> Thread& {
    const uint32_t process = recording.threads[thread].process;
    const std::pair name(file_name(recording.processes[process].name), names[thread]);
    const bool has_room = threads_.size() < kMaxNames || threads_.contains(name);
    return threads_[has_room ? name : std::pair<std::string, std::string>(kOthers, kOthers)];
  };
  for (const recording::Sample& sample : recording.samples) {
    Thread& thread = thread_of(sample.thread);
    incomplete_stacks_ += sample.stop != wire::StopReason::kRoot;
    const bool waits = sample.wait != kNone;
    (waits ? samples_waiting_ : samples_cpu_) += 1;
    const bool runnable = waits && recording.waits[sample.wait].call == recording::kRunnable;
    (runnable ? thread.runnable_ns : waits ? thread.waiting_ns : thread.cpu_ns) += sample.weight_ns;
  }
  for (const recording::Span& span : recording.markers.spans) {
    if (span.end_ns < from_ns || span.end_ns >= to_ns) continue;
    const std::string& name = recording.markers.texts[span.name];
    Spans& row = row_of(spans_, name);
    ++row.count;
    row.ns += span.end_ns.since(span.begin_ns);
  }
  threads_now_ =
      recording.threads.size() - std::min(recording.thread_ends.size(), recording.threads.size());
  add_losses(recording);
}

void Metrics::add_losses(const recording::Recording& recording) {
  for (const recording::Losses& row : recording.losses) {
    // Recordings that lost blocks, and merged ones, have losses without a process.
    const recording::Process process =
        row.process == kNone ? recording::Process{} : recording.processes[row.process];
    auto& of_process = losses_[{process.pid, process.start_ns}];
    for (size_t i = 0; i < wire::kLossCount; ++i) {
      uint64_t& count = of_process[static_cast<wire::Loss>(i)];
      count = std::max(count, row.count[i]);
    }
  }
}

// The live heap is that of now: a process that has ended has none.
void Metrics::add_watched(recording::Recording recording, SessionNs to_ns) {
  for (auto& [name, row] : heaps_) row.live = {};
  if (recording.watch_changes.empty()) return;
  const profile::Profile profile = profile::load(std::move(recording));
  for (const profile::WatchChange& change : profile.watch_changes) {
    if (change.setting == 0) continue;
    const std::string& name = profile.processes[change.process].name;
    if (change.what == profile::Watched::kHeap) {
      row_of(heaps_, name);
    } else {
      row_of(locks_, name);
    }
  }
  const auto process = [&](uint32_t thread) {
    return profile.processes[profile.threads[thread].process].name;
  };
  for (uint32_t i = 0; i < profile.blocks.size(); ++i) {
    const profile::Block& block = profile.blocks[i];
    Heap& heap = row_of(heaps_, process(block.thread));
    if (is_in(profile, i, profile::HeapPart::kLive, to_ns)) heap.live.add(block);
    if (is_in(profile, i, profile::HeapPart::kAllocated, to_ns)) heap.allocated.add(block);
  }
  for (const profile::LockWait& wait : profile.lock_waits) {
    row_of(locks_, process(wait.thread)).add(wait);
  }
}

std::string Metrics::text(const Cost& cost) const {
  Text text;
  uint64_t sampled_ns = 0;
  for (const auto& [name, thread] : threads_) sampled_ns += thread.cpu_ns;

  text.metric(
      "sampan_rate_hertz", "gauge",
      "Current sampling rate per second of CPU: the requested rate, or less with --max-overhead.");
  text.value("", rate_hz_);
  text.metric("sampan_asked_rate_hertz", "gauge", "Requested sampling rate per second of CPU.");
  text.value("", asked_hz_);
  text.metric("sampan_samples_total", "counter", "Samples taken.");
  text.value(label("state", "cpu"), samples_cpu_);
  text.value(label("state", "waiting"), samples_waiting_);
  text.metric("sampan_incomplete_stacks_total", "counter",
              "Samples whose stack does not reach the thread's first frame.");
  text.value("", incomplete_stacks_);
  text.metric("sampan_lost_total", "counter", "What could not be recorded, by reason.");
  for (size_t i = 0; i < wire::kLossCount; ++i) {
    const auto loss = static_cast<wire::Loss>(i);
    uint64_t count = 0;
    for (const auto& [process, counts] : losses_) {
      const auto found = counts.find(loss);
      count += found != counts.end() ? found->second : 0;
    }
    text.value(label("reason", wire::loss_key(loss)), count);
  }
  text.metric("sampan_sampled_cpu_seconds_total", "counter", "CPU time that samples stand for.");
  text.value("", in_seconds(sampled_ns));
  if (cost.target > 0) {
    text.metric("sampan_target_cpu_seconds_total", "counter",
                "CPU time that the kernel accounted to the program since its capture began.");
    text.value("", cost.target);
    text.metric("sampan_coverage_ratio", "gauge", "Sampled CPU divided by true CPU.");
    text.value("", in_seconds(sampled_ns) / cost.target);
  }
  text.metric("sampan_overhead_cpu_seconds_total", "counter",
              "CPU time used by sampan, by process. That in the target is included in "
              "sampan_target_cpu_seconds_total, and is partly measured, partly estimated.");
  text.value(label("process", "recorder"), cost.recorder);
  text.value(label("process", "target"), in_seconds(in_target_ns_));
  text.value(label("process", "server"), in_seconds(read_clock_ns(CLOCK_PROCESS_CPUTIME_ID)));

  text.metric("sampan_threads", "gauge", "Threads that are being sampled.");
  text.value("", threads_now_);
  text.metric("sampan_thread_seconds_total", "counter",
              "Time of threads by name: sampled CPU, waiting, waiting for a CPU.");
  for (const auto& [name, thread] : threads_) {
    const std::string labels = label("process", name.first) + "," + label("thread", name.second);
    text.value(labels + ",state=\"cpu\"", in_seconds(thread.cpu_ns));
    if (samples_waiting_ == 0) continue;
    text.value(labels + ",state=\"waiting\"", in_seconds(thread.waiting_ns));
    text.value(labels + ",state=\"runnable\"", in_seconds(thread.runnable_ns));
  }
  text.metric("sampan_spans_total", "counter", "Spans that have ended, by name.");
  for (const auto& [name, row] : spans_) text.value(label("span", name), row.count);
  text.metric("sampan_span_seconds_total", "counter",
              "Total duration of spans that have ended, by name.");
  for (const auto& [name, row] : spans_) text.value(label("span", name), in_seconds(row.ns));
  const auto by_process = [&](const auto& rows, auto value) {
    for (const auto& [name, row] : rows) text.value(label("process", name), value(row));
  };
  if (!heaps_.empty()) {
    text.metric("sampan_heap_live_bytes", "gauge", "Bytes that live in the heap, estimated.");
    by_process(heaps_, [](const Heap& row) { return row.live.bytes; });
    text.metric("sampan_heap_live_blocks", "gauge", "Blocks that live in the heap, estimated.");
    by_process(heaps_, [](const Heap& row) { return row.live.blocks; });
    text.metric("sampan_heap_allocated_bytes_total", "counter", "Bytes allocated, estimated.");
    by_process(heaps_, [](const Heap& row) { return row.allocated.bytes; });
    text.metric("sampan_heap_allocated_blocks_total", "counter", "Blocks allocated, estimated.");
    by_process(heaps_, [](const Heap& row) { return row.allocated.blocks; });
  }
  if (!locks_.empty()) {
    text.metric("sampan_lock_waits_total", "counter",
                "Waits for locks that have ended, estimated.");
    by_process(locks_, [](const profile::LockSum& row) { return row.waits; });
    text.metric("sampan_lock_wait_seconds_total", "counter",
                "Total duration of waits for locks that have ended, estimated.");
    by_process(locks_, [](const profile::LockSum& row) { return row.waited_ns / kNsPerSecond; });
  }
  return text.take();
}

}  // namespace sampan::serve
