#include "exporters/trace_tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "exporters/escaped_text.h"
#include "exporters/trace_events.h"
#include "profile/loop_steps.h"
#include "profile/trace_ids.h"

namespace sampan::exporters {
namespace {

constexpr uint64_t kRunBytes = 260;  // of an event, with two names

std::string microseconds_of(uint64_t ns) {
  return fmt::format("{}.{:03}", ns / 1000, ns % 1000);
}

}  // namespace

TraceLabels task_labels_of(const profile::View& view) {
  profile::TaskLabels tasks = profile::task_labels(view);
  TraceLabels labels{.category = "task", .noun = "tasks"};
  for (const std::string& text : tasks.texts) {
    labels.names.push_back(json_string(text));
    labels.args.push_back(fmt::format(R"("task":{})", labels.names.back()));
  }
  labels.of_samples = std::move(tasks.of_samples);
  return labels;
}

TraceLabels request_labels_of(const profile::View& view) {
  constexpr size_t kShown = 8;  // digits of an id
  TraceLabels labels{.category = "request", .noun = "requests", .names = {""}, .args = {""}};
  const profile::Profile& profile = *view.profile;
  if (profile.contexts.empty()) return labels;
  for (const profile::TraceContext& context : profile.contexts) {
    const std::string trace = profile::trace_text(context);
    const std::string span = profile::span_text(context.span_id);
    labels.names.push_back(json_string("trace " + trace.substr(0, kShown)));
    labels.args.push_back(
        fmt::format(R"("trace_id":{},"span_id":{})", json_string(trace), json_string(span)));
  }
  for (const uint32_t index : view.samples) {
    labels.of_samples.push_back(profile.samples[index].context + 1);  // kNone is 0
  }
  return labels;
}

TraceTasks::TraceTasks(const profile::View& view, TraceLabels labels, uint64_t max_size)
    : view_(view), labels_(std::move(labels)) {
  find_runs();
  drop_shortest(max_size);
}

// The time of a sample begins with its weight, or with the sample before.
void TraceTasks::find_runs() {
  if (labels_.of_samples.empty()) return;
  std::map<uint32_t, Run> open;  // by thread
  for (size_t i = 0; i < view_.samples.size(); ++i) {
    const profile::Sample& sample = view_.profile->samples[view_.samples[i]];
    const uint32_t label = labels_.of_samples[i];
    Run& run = open.try_emplace(sample.thread, Run{0, 0, sample.thread, 0, 0}).first->second;
    const SessionNs begin_ns = std::max(sample.time_ns.earlier(sample.weight_ns), run.end_ns);
    const bool follows = begin_ns - run.end_ns <= sample.weight_ns;
    if (label != run.label || !follows) {
      if (run.label != 0) runs_.push_back(run);
      run = {begin_ns, sample.time_ns, sample.thread, label, 0};
    }
    run.end_ns = sample.time_ns;
    ++run.samples;
  }
  for (const auto& [thread, run] : open) {
    if (run.label != 0) runs_.push_back(run);
  }
}

void TraceTasks::drop_shortest(uint64_t max_size) {
  const auto length = [](const Run& run) { return run.end_ns - run.begin_ns; };
  const size_t most = max_size / kRunBytes;
  if (runs_.size() <= most) return;
  std::vector<uint64_t> lengths;
  for (const Run& run : runs_) lengths.push_back(length(run));
  const auto last = lengths.begin() + static_cast<ptrdiff_t>(most);
  std::nth_element(lengths.begin(), last, lengths.end(), std::greater<>());
  const uint64_t shortest = *last;
  const size_t dropped =
      std::erase_if(runs_, [&](const Run& run) { return length(run) <= shortest; });
  notes_.push_back(fmt::format("{} of {} runs of {}, the shortest (up to {:.1f} ms), are left out",
                               dropped, dropped + runs_.size(), labels_.noun,
                               static_cast<double>(shortest) / 1e6));
}

void TraceTasks::write(const std::function<void(std::string_view)>& event) const {
  const std::vector<int32_t> pids = trace_pids(*view_.profile);
  for (const Run& run : runs_) {
    const profile::Thread& thread = view_.profile->threads[run.thread];
    const std::string head =
        fmt::format(R"({{"name":{},"cat":"{}","id2":{{"local":"{} {} {}"}},"pid":{},"tid":{})",
                    labels_.names[run.label], labels_.category, labels_.category, run.thread,
                    run.label, pids[thread.process], thread.tid);
    event(fmt::format(R"({},"ph":"b","ts":{},"args":{{{},"samples":{}}}}})", head,
                      microseconds_of(run.begin_ns), labels_.args[run.label], run.samples));
    event(fmt::format(R"({},"ph":"e","ts":{}}})", head, microseconds_of(run.end_ns)));
  }
}

}  // namespace sampan::exporters
