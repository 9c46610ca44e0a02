#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/text/json_writer.h"
#include "base/text/readable.h"
#include "base/time.h"
#include "profile/flat.h"
#include "profile/frames.h"
#include "profile/profile.h"
#include "profile/python_notes.h"
#include "profile/rates.h"
#include "profile/sections.h"
#include "profile/summary.h"
#include "profile/trace_ids.h"
#include "profile/traces.h"
#include "profile/unit.h"
#include "reports/report.h"
#include "reports/table.h"
#include "reports/tasks.h"
#include "reports/watched_json.h"

namespace sampan::reports {
namespace {

template <typename Ns>
std::optional<double> optional_seconds(const std::optional<Ns>& ns) {
  return ns ? std::optional(in_seconds(*ns)) : std::nullopt;
}

std::string_view sampled_key(const profile::Unit& unit) {
  return unit.is_time() ? "sampled_cpu_s" : "sampled";
}

void write_cost(Json& json, const profile::Profile& profile) {
  const auto cost = profile::cost(profile);
  if (!cost) return json.null();
  json.object([&] {
    json.member("target_cpu_s", in_seconds(cost->target_ns));
    json.member("in_target_s", in_seconds(cost->in_target_ns));
    json.member("recorder_s", in_seconds(cost->recorder_ns));
    json.member("share", profile::cost_share(*cost, cost->in_target_ns + cost->recorder_ns));
  });
}

void write_session(Json& json, const profile::Profile& profile, const profile::Summary& summary,
                   const profile::Unit& unit) {
  json.member("program", profile.session.program);
  json.member("command", profile.session.command);
  const bool is_known = profile.session.start_unix_ns != 0;
  json.member("start_time",
              is_known ? std::optional(iso_8601(profile.session.start_unix_ns)) : std::nullopt);
  if (!unit.is_time()) json.member("unit", unit.what());
  if (!profile.session.labels.empty()) {
    json.key("labels");
    json.object([&] {
      for (const auto& [name, value] : profile.session.labels) json.member(name, value);
    });
  }
  json.member("duration_s", in_seconds(profile.duration_ns()));
  json.member("clock", profile.session.clock);
  json.member("cpus", profile.session.cpus);
  json.member("rate_hz", profile.session.rate_hz);
  json.member("achieved_rate_hz", unit.is_time() ? summary.achieved_rate_hz() : 0);
  json.member("sampling_clocks", profile::sampling_clocks(profile));
  json.objects("rates", profile.rates.changes, [&](const profile::RateChange& change) {
    json.member("from_s", in_seconds(change.time_ns));
    json.member("rate_hz", change.rate_hz);
    json.member("governed", change.governed);
  });
  json.key("cost");
  write_cost(json, profile);
  json.member("cpu_s", optional_seconds(summary.cpu_ns));
  if (profile.end && profile.end->instructions) {
    json.member("instructions", *profile.end->instructions);
  }
  json.member(sampled_key(unit), unit.value(summary.sampled.ns));
  json.member("coverage", summary.coverage());
  if (profile.has_waits()) {
    json.member("waiting_s", in_seconds(summary.waiting.ns));
    json.member("runnable_s", in_seconds(summary.runnable.ns));
  }
  json.member("samples", summary.total().samples);
  json.member("complete_stacks", summary.complete_share());
}

void write_origins(Json& json, const profile::Profile& profile) {
  json.objects("origins", profile.origins, [&](const profile::Origin& origin) {
    json.member("label", origin.label);
    json.member("host", origin.host);
    json.member("program", origin.program);
    json.member("start_time", iso_8601(origin.start_unix_ns));
  });
}

void write_lost(Json& json, const profile::Profile& profile) {
  json.key("lost");
  json.object([&] {
    for (const profile::Lost& lost : profile::losses(profile)) json.member(lost.key, lost.count);
  });
}

void write_processes(Json& json, const profile::Profile& profile, const profile::Summary& summary) {
  json.objects("processes", summary.processes, [&](const profile::ProcessSummary& row) {
    const profile::Process& process = profile.processes[row.process];
    json.member("pid", process.pid);
    json.member("parent", process.parent_pid);
    json.member("name", process.name);
    if (process.origin != profile::kNone) {
      json.member("label", profile.origins[process.origin].label);
    }
    json.member("cpu_s", optional_seconds(row.cpu_ns));
    json.member("samples", row.samples);
    if (process.exit_status) json.member("exit_status", *process.exit_status);
    if (process.exit_signal) json.member("exit_signal", *process.exit_signal);
  });
}

void write_traces(Json& json, const profile::View& view) {
  json.objects("traces", profile::traces_of(view), [&](const profile::Trace& trace) {
    json.member("trace_id", profile::hex_text(trace.trace_id));
    json.member("processes", trace.processes);
    json.member("spans", uint64_t{trace.spans.size()});
    json.member("cpu_s", in_seconds(trace.cpu.ns));
    json.member("waiting_s", in_seconds(trace.waiting.ns));
    json.member("runnable_s", in_seconds(trace.runnable.ns));
    json.member("samples", trace.cpu.samples + trace.waiting.samples + trace.runnable.samples);
  });
}

void write_threads(Json& json, const profile::Profile& profile, const profile::Summary& summary,
                   const profile::Unit& unit) {
  json.objects("threads", summary.threads, [&](const profile::ThreadSummary& row) {
    const profile::Thread& thread = profile.threads[row.thread];
    json.member("pid", profile.processes[thread.process].pid);
    json.member("tid", thread.tid);
    json.member("name", thread.name);
    json.member("cpu_s", optional_seconds(row.cpu_ns));
    json.member(sampled_key(unit), unit.value(row.sampled.ns));
    if (profile.has_waits()) {
      json.member("waiting_s", in_seconds(row.waiting.ns));
      json.member("runnable_s", in_seconds(row.runnable.ns));
    }
    json.member("samples", row.samples());
    json.member("complete_stacks", row.complete_share());
  });
}

void write_waits(Json& json, const profile::View& view) {
  const profile::Profile& profile = *view.profile;
  std::map<std::pair<uint32_t, uint32_t>, profile::Weight> weights;  // by thread and wait
  for (const uint32_t index : view.samples) {
    const profile::Sample& sample = profile.samples[index];
    if (sample.wait != profile::kNone) {
      weights[{sample.thread, sample.wait}] += {sample.weight_ns, 1};
    }
  }
  std::vector<std::pair<std::pair<uint32_t, uint32_t>, profile::Weight>> rows(weights.begin(),
                                                                              weights.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second.ns > b.second.ns; });
  json.objects("waits", rows, [&](const auto& row) {
    const profile::Thread& thread = profile.threads[row.first.first];
    const profile::Wait& wait = profile.waits[row.first.second];
    json.member("pid", profile.processes[thread.process].pid);
    json.member("tid", thread.tid);
    json.member("thread", thread.name);
    json.member("call", wait.call);
    json.member("object", wait.object);
    if (wait.call == profile::kGil) json.member("held_in", wait.held_in);
    json.member("waiting_s", in_seconds(row.second.ns));
    json.member("samples", row.second.samples);
  });
}

void write_sections(Json& json, const profile::View& view) {
  const profile::Profile& profile = *view.profile;
  json.objects(
      "sections", profile::named_sections(profile), [&](const profile::NamedSection& section) {
        const profile::SectionWeight weight = section_weight(view, section);
        json.member("name", profile.markers.texts[section.name]);
        json.member("occurrences", section.rows.size());
        json.member("unclosed", section.unclosed);
        json.member("first_s", in_seconds(profile.markers.sections[section.rows[0]].begin_ns));
        json.member("wall_s", in_seconds(section.wall_ns));
        json.member("longest_s", in_seconds(section.longest_ns));
        json.member("sampled_cpu_s", in_seconds(weight.cpu.ns));
        if (profile.has_waits()) json.member("waiting_s", in_seconds(weight.waiting.ns));
        json.member("samples", weight.cpu.samples + weight.waiting.samples);
      });
}

void write_functions(Json& json, const profile::View& view, const profile::Unit& unit) {
  const profile::Profile& profile = *view.profile;
  json.objects("functions", flat_table(view), [&](const profile::FlatRow& row) {
    json.member("name", function_name(profile, row.function));
    json.member("module", function_module_path(profile, row.function));
    json.member("file", profile.strings[row.file]);
    json.member("line", row.line);
    json.member(unit.key("self"), unit.value(row.self.ns));
    json.member(unit.key("total"), unit.value(row.total.ns));
    json.member("self_samples", row.self.samples);
    json.member("total_samples", row.total.samples);
  });
}

}  // namespace

std::string json(const profile::View& view, const PageOptions& options) {
  const profile::Profile& profile = *view.profile;
  const profile::Summary summary = profile::summarize(view);
  std::vector<std::string> all_notes = profile::notes_of_end(profile);
  for (const std::string& note : profile::python_notes(profile)) all_notes.push_back(note);
  all_notes.insert(all_notes.end(), options.notes.begin(), options.notes.end());

  Json json;
  json.object([&] {
    const profile::Unit unit(profile.session, summary.total().ns);
    write_session(json, profile, summary, unit);
    if (!profile.origins.empty()) write_origins(json, profile);
    write_lost(json, profile);
    json.member("notes", all_notes);
    json.member("damage", profile.damage);
    write_processes(json, profile, summary);
    write_threads(json, profile, summary, unit);
    if (profile.has_waits()) write_waits(json, view);
    if (profile.shown == profile::Shown::kHeap) write_heap(json, view);
    if (profile.shown == profile::Shown::kLocks) write_locks(json, view);
    if (!profile.markers.sections.empty() && !view.section) write_sections(json, view);
    if (!profile.markers.steps.empty()) write_tasks(json, view, options.least_block_ns);
    if (!profile.contexts.empty()) write_traces(json, view);
    if (!options.critical.empty()) write_critical_path(json, view, options.critical);
    write_functions(json, view, unit);
  });
  return json.text();
}

}  // namespace sampan::reports
