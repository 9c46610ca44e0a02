#include "exporters/page_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/json_writer.h"
#include "base/text/readable.h"
#include "profile/frames.h"
#include "profile/profile.h"
#include "profile/python_notes.h"
#include "profile/rates.h"
#include "profile/summary.h"

namespace sampan::exporters {
namespace {

using profile::kNone;
using profile::Profile;

std::string command_line(const profile::Session& session) {
  std::string text;
  for (const std::string& word : session.command) text += (text.empty() ? "" : " ") + word;
  return text;
}

// "status 1", "signal 11", "" where it is not known.
std::string exit_of(const profile::Process& process) {
  if (process.exit_signal) return fmt::format("signal {}", *process.exit_signal);
  if (process.exit_status) return fmt::format("status {}", *process.exit_status);
  return "";
}

void write_meta(Json& json, const profile::View& view, const PageSamples& samples,
                const profile::Summary& summary, const std::vector<std::string>& notes) {
  const Profile& profile = *view.profile;
  const profile::Session& session = profile.session;
  json.member("program", session.program);
  json.member("command", command_line(session));
  json.member("startTime", session.start_unix_ns == 0 ? "" : iso_8601(session.start_unix_ns));
  json.member("durationNs", profile.duration_ns());
  json.member("clock", session.clock);
  json.member("unit", session.unit);
  json.member("imported", session.is_imported());
  json.member("hasTimes",
              !session.is_imported() ||
                  std::ranges::any_of(profile.samples, [](const profile::Sample& sample) {
                    return sample.time_ns != 0;
                  }));
  json.member("cpus", session.cpus);
  json.member("rateHz", session.rate_hz);
  json.member("achievedRateHz", session.unit.empty() ? summary.achieved_rate_hz() : 0);
  const profile::RateRange rates = profile::rate_range(profile);
  json.member("rates", profile::rate_text(profile));
  json.member("lowestRateHz", rates.lowest_hz);
  json.member("cost", profile::cost_text(profile));
  if (profile.shown != profile::Shown::kSamples) {
    json.key("cpuNs");
    json.null();
  } else if (session.is_imported()) {
    json.member("cpuNs", summary.cpu_ns);
  } else {
    json.member("cpuNs", summary.cpu_ns.value_or(summary.sampled.ns));
  }
  json.member("sampledCpuNs", summary.sampled.ns);
  json.member("samples", summary.total().samples);
  if (samples.all.size() > 1) {
    json.key("sampleTypes");
    json.object([&] {
      json.member("shown", samples.shown);
      json.member("first", samples.first);
      json.key("all");
      json.array(samples.all, [&](std::string_view type) { json.value(type); });
      json.member("waits", samples.waits);
    });
  }
  json.member("completeStacks", summary.complete_share().value_or(1));
  json.key("lost");
  json.object([&] {
    for (const profile::Lost& lost : profile::losses(profile)) json.member(lost.text, lost.count);
  });
  std::vector<std::string> all_notes = profile.damage;
  for (const std::string& note : profile::notes_of_end(profile)) all_notes.push_back(note);
  for (const std::string& note : profile::python_notes(profile)) all_notes.push_back(note);
  all_notes.insert(all_notes.end(), notes.begin(), notes.end());
  json.member("notes", all_notes);
  json.key("diff");
  if (profile.sides.empty()) return json.null();
  json.object([&] {
    json.member("a", profile.sides[0]);
    json.member("b", profile.sides[1]);
  });
}

// By process of the profile: its place among the processes with threads in the view.
std::vector<uint32_t> write_processes(Json& json, const profile::View& view) {
  const Profile& profile = *view.profile;
  std::vector<uint32_t> places(profile.processes.size(), kNone);
  std::vector<uint32_t> processes;
  for (const uint32_t thread : view.threads) {
    const uint32_t process = profile.threads[thread].process;
    if (places[process] != kNone) continue;
    places[process] = static_cast<uint32_t>(processes.size());
    processes.push_back(process);
  }
  json.objects("processes", processes, [&](uint32_t index) {
    const profile::Process& process = profile.processes[index];
    json.member("pid", process.pid);
    json.member("parent", process.parent_pid);
    json.member("name", process.name);
    if (process.origin != kNone) json.member("label", profile.origins[process.origin].label);
    json.member("exit", exit_of(process));
  });
  return places;
}

// The sums of threads that are shown as one.
std::vector<profile::ThreadSummary> thread_sums(const profile::View& view,
                                                const profile::Summary& summary) {
  std::vector<profile::ThreadSummary> sums(view.profile->threads.size());
  for (const profile::ThreadSummary& row : summary.threads) {
    profile::ThreadSummary& sum = sums[view.thread_of(row.thread)];
    sum.sampled += row.sampled;
    sum.waiting += row.waiting;
    sum.waiting += row.runnable;
    sum.cpu_ns = sum.cpu_ns.value_or(0) + row.known_cpu_ns();
  }
  return sums;
}

void write_threads(Json& json, const profile::View& view, const profile::Summary& summary,
                   const std::vector<uint32_t>& places) {
  const Profile& profile = *view.profile;
  const std::vector<profile::ThreadSummary> sums = thread_sums(view, summary);
  json.objects("threads", view.threads, [&](uint32_t index) {
    const profile::Thread& thread = profile.threads[index];
    json.member("process", places[thread.process]);
    json.member("tid", thread.tid);
    json.member("name", view.thread_name(index));
    json.member("pool", profile::pool_name(thread.name));
    json.member("isMain", thread.is_main);
    json.member("cpuNs", sums[index].known_cpu_ns());
    json.member("sampledCpuNs", sums[index].sampled.ns);
    json.member("waitNs", sums[index].waiting.ns);
    json.member("startNs", thread.start_ns);
    json.member("endNs", thread.end_ns.value_or(profile.duration_ns()));
    json.member("side", uint32_t{thread.side});
  });
}

void write_locks(Json& json, const Profile& profile, const PageLocks& locks) {
  json.objects("locks", locks.table, [&](const profile::LockRow& row) {
    json.member("kind", profile::kind_name(row.kind));
    json.member("name", profile::lock_name(profile, row.lock));
    json.member("locks", row.locks);
  });
  const auto function = [&](const char* key, uint32_t handle) {
    if (handle != kNone) json.member(key, profile::function_name(profile, handle));
  };
  json.objects("lockSides", locks.sides, [&](const profile::LockSides& row) {
    json.member("lock", row.row);
    function("waiter", row.waiter);
    function("holder", row.holder);
    function("waker", row.waker);
  });
}

std::string_view kind_name(PageColumn::Kind kind) {
  switch (kind) {
    case PageColumn::Kind::kNumbers: return "numbers";
    case PageColumn::Kind::kFlags: return "flags";
    case PageColumn::Kind::kDoubles: return "doubles";
  }
  return "";
}

void write_columns(Json& json, const std::vector<const PageColumn*>& columns) {
  json.objects("columns", columns, [&](const PageColumn* column) {
    json.member("name", column->name());
    json.member("kind", kind_name(column->kind()));
    json.member("count", uint64_t{column->count()});
  });
}

}  // namespace

std::string page_header(const profile::View& view, const PageSamples& samples,
                        const PageTables& tables, const PageLocks* locks,
                        const std::vector<std::string_view>& marker_texts,
                        const std::vector<const PageColumn*>& columns,
                        const std::vector<std::string>& notes) {
  const Profile& profile = *view.profile;
  const profile::Summary summary = profile::summarize(view);
  Json json;
  json.object([&] {
    json.key("meta");
    json.object([&] { write_meta(json, view, samples, summary, notes); });
    json.key("strings");
    json.array(tables.strings(), [&](std::string_view text) { json.value(text); });
    json.key("markerTexts");
    json.array(marker_texts, [&](std::string_view text) { json.value(text); });
    json.objects("modules", tables.modules(), [&](uint32_t module) {
      json.member("name", profile::module_name(profile, module));
      json.member("path", profile.modules[module].path);
    });
    const std::vector<uint32_t> places = write_processes(json, view);
    write_threads(json, view, summary, places);
    if (locks != nullptr) write_locks(json, profile, *locks);
    write_columns(json, columns);
  });
  return json.text();
}

}  // namespace sampan::exporters
