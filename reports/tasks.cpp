#include "reports/tasks.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text/readable.h"
#include "base/time.h"
#include "profile/frames.h"
#include "profile/loop_steps.h"
#include "profile/rates.h"
#include "reports/table.h"

namespace sampan::reports {
namespace {

using profile::LoopBlock;
using profile::StepKind;
using profile::TaskRow;

constexpr size_t kShownBlocks = 20;

std::string_view kind_name(const TaskRow& row) {
  if (row.outside) return "outside";
  switch (row.kind) {
    case StepKind::kTask: return "task";
    case StepKind::kCallback: return "callback";
    case StepKind::kUnknown: break;
  }
  return "unknown";
}

std::string task_cell(const profile::Profile& profile, const TaskRow& row) {
  if (row.outside) return "(outside of steps)";
  if (row.kind == StepKind::kCallback) return "(callbacks)";
  if (row.kind == StepKind::kUnknown) return "(not known)";
  return row.name == 0 ? "Task-…" : printable(profile.markers.texts[row.name]);
}

uint64_t samples_of(const TaskRow& row) {
  return row.cpu.samples + row.waiting.samples + row.runnable.samples;
}

std::string milliseconds(uint64_t ns) {
  return count((ns + 500'000) / 1'000'000);
}

// A step that waits for something else than its loop has no samples where CPU alone was sampled. Nothing is said where
// the loops had CPU most of the time.
std::string hint_of_waits(const Context& context, uint64_t cpu_ns) {
  constexpr double kMost = 0.8;
  const profile::View& view = context.view;
  if (view.profile->has_waits()) return "";
  // By thread: where its first step begins, and its last one ends.
  std::map<uint32_t, std::pair<SessionNs, SessionNs>> times;
  for (const profile::Step& step : view.profile->markers.steps) {
    const bool is_seen =
        step.end_ns >= view.from_ns && step.begin_ns <= view.to_ns &&
        std::ranges::find(view.threads, view.thread_of(step.thread)) != view.threads.end();
    if (!is_seen) continue;
    const SessionNs begin_ns = std::max(step.begin_ns, view.from_ns);
    const SessionNs end_ns = std::min(step.end_ns, view.to_ns);
    const auto [time, is_first] = times.try_emplace(step.thread, begin_ns, end_ns);
    if (is_first) continue;
    time->second = {std::min(time->second.first, begin_ns), std::max(time->second.second, end_ns)};
  }
  uint64_t all_ns = 0;
  for (const auto& [thread, time] : times) all_ns += time.second - time.first;
  if (all_ns == 0 || static_cast<double>(cpu_ns) > kMost * static_cast<double>(all_ns)) return "";
  return context.style.faint(fmt::format(
             "  for {} s of {} s their loops had no CPU: --clock wall shows steps that waited",
             seconds(all_ns - cpu_ns), seconds(all_ns))) +
         "\n";
}

std::string task_rows(const Context& context) {
  const profile::Profile& profile = context.profile();
  const std::vector<TaskRow> rows = task_table(context.view);
  const bool waits = context.view.is_of_wall_time();
  Table table({{.title = "tasks"},
               {.title = "CPU"},
               {.title = "%"},
               {.title = waits ? "waited" : ""},
               {.title = "samples"},
               {.title = "longest ms"},
               {.title = "task", .left = true, .minimum = 10},
               {.title = "coroutine", .left = true, .minimum = 12}});
  uint64_t all_ns = 0, folded_ns = 0;
  for (const TaskRow& row : rows) all_ns += row.cpu.ns;
  const size_t top = context.options.top == 0 ? rows.size() : context.options.top;
  size_t folded = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const TaskRow& row = rows[i];
    if (i >= top && !row.outside) {
      ++folded;
      folded_ns += row.cpu.ns;
      continue;
    }
    table.add({row.tasks == 0 ? "" : count(row.tasks), seconds(row.cpu.ns),
               percent(static_cast<double>(row.cpu.ns), static_cast<double>(all_ns)),
               waits ? seconds(row.waiting.ns) : "", count(samples_of(row)),
               row.outside ? "" : milliseconds(row.longest_ns), task_cell(profile, row),
               printable(profile.markers.texts[row.coroutine])},
              static_cast<double>(row.cpu.ns) >= kStrongShare * static_cast<double>(all_ns));
  }
  std::string text = context.style.heading("Tasks, most time first (seconds)") + "\n" +
                     table.text(context.options.width, context.style);
  if (folded != 0) {
    text += context.style.faint(
                fmt::format("  and {} more, {} s of CPU", count(folded), seconds(folded_ns))) +
            "\n";
  }
  return text + hint_of_waits(context, all_ns);
}

// The first function and the last ones.
std::string cut_path_of(std::string_view path, size_t width) {
  constexpr std::string_view kArrow = " > ";
  constexpr size_t kLeastRest = 16;  // columns
  const size_t arrow = path.find(kArrow);
  if (columns(path) <= width || arrow == path.npos) return cut_end(path, width);
  const std::string first(path.substr(0, arrow + kArrow.size()));
  if (columns(first) + kLeastRest > width) return cut_start(path, width);
  return first + cut_start(path.substr(first.size()), width - columns(first));
}

// A C function without a name says less than the function that called it.
std::string path_of(const Context& context, const LoopBlock& block) {
  std::string path;
  for (const uint32_t function : block.functions) {
    const std::string_view name = function_name(context.profile(), function);
    if (!path.empty() && name.starts_with('[') && name.find('+') != name.npos) continue;
    path +=
        (path.empty() ? "" : " > ") + function_cell(context.profile(), function, context.options);
  }
  return path;
}

std::string block_rows(const Context& context) {
  const profile::Profile& profile = context.profile();
  const uint64_t least_ns = context.options.least_block_ns;
  const std::vector<LoopBlock> blocks = loop_blocks(context.view, least_ns);
  if (blocks.empty()) {
    return context.style.faint(
               fmt::format("  no step held its loop for {} ms", milliseconds(least_ns))) +
           "\n";
  }
  Table table({{.title = "at s"},
               {.title = "ms"},
               {.title = "samples"},
               {.title = "task", .left = true, .minimum = 10},
               {.title = "where it was", .left = true, .minimum = 30, .cut = cut_path_of}});
  const size_t shown =
      context.options.top == 0 ? blocks.size() : std::min(blocks.size(), kShownBlocks);
  for (size_t i = 0; i < shown; ++i) {
    const LoopBlock& block = blocks[i];
    const profile::Step& step = profile.markers.steps[block.step];
    table.add({seconds(block.begin_ns), milliseconds(block.end_ns - block.begin_ns),
               count(block.samples), task_cell(profile, {.kind = step.kind, .name = step.name}),
               path_of(context, block)});
  }
  std::string text = context.style.heading(fmt::format(
                         "Steps that held their loop for {} ms or more", milliseconds(least_ns))) +
                     "\n" + table.text(context.options.width, context.style);
  const auto line = [&](const std::string& words) {
    text += context.style.faint("  " + words) + "\n";
  };
  if (shown < blocks.size()) line(fmt::format("and {} more", count(blocks.size() - shown)));
  line(
      "ms: from the first to the last sample of the step, which took a little longer: by less "
      "than");
  line("a sample's CPU, and by waits at either end");
  return text;
}

}  // namespace

std::string tasks_section(const Context& context) {
  if (context.profile().markers.steps.empty()) {
    return context.style.heading("Tasks") + "\n" +
           context.style.faint("  no event loop of asyncio was seen") + "\n";
  }
  return task_rows(context) + "\n" + block_rows(context);
}

void write_tasks(Json& json, const profile::View& view, uint64_t least_block_ns) {
  const profile::Profile& profile = *view.profile;
  const auto text = [&](uint32_t index) -> std::string_view {
    return profile.markers.texts[index];
  };
  json.objects("tasks", task_table(view), [&](const TaskRow& row) {
    json.member("kind", kind_name(row));
    json.member("name", text(row.name));
    json.member("coroutine", text(row.coroutine));
    json.member("tasks", row.tasks);
    json.member("sampled_cpu_s", in_seconds(row.cpu.ns));
    if (profile.has_waits()) {
      json.member("waiting_s", in_seconds(row.waiting.ns));
      json.member("runnable_s", in_seconds(row.runnable.ns));
    }
    json.member("samples", samples_of(row));
    json.member("longest_s", in_seconds(row.longest_ns));
  });
  json.objects("blocks", loop_blocks(view, least_block_ns), [&](const LoopBlock& block) {
    const profile::Step& step = profile.markers.steps[block.step];
    const profile::Thread& thread = profile.threads[step.thread];
    json.member("pid", profile.processes[thread.process].pid);
    json.member("tid", thread.tid);
    json.member("begin_s", in_seconds(block.begin_ns));
    json.member("at_least_s", in_seconds(block.end_ns - block.begin_ns));
    json.member("samples", block.samples);
    json.member("kind", kind_name({.kind = step.kind}));
    json.member("name", text(step.name));
    json.member("coroutine", text(step.text));
    std::vector<std::string> functions;
    for (const uint32_t function : block.functions) {
      functions.emplace_back(function_name(profile, function));
    }
    json.member("functions", functions);
  });
}

}  // namespace sampan::reports
