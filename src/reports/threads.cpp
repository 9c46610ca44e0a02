// The tables of threads and of processes: true CPU beside sampled CPU, busiest first.
#include <fmt/core.h>

#include <algorithm>

#include "reports/outcome.h"
#include "reports/sections.h"
#include "reports/table.h"
#include "reports/text.h"

namespace sampan::reports {
namespace {

// Longer lists are folded: "and 37 more threads, 0.3 s".
constexpr size_t kShown = 20;
constexpr double kStrongShare = 0.1;

std::string optional_seconds(std::optional<uint64_t> ns) {
  return ns ? seconds(*ns) : "-";
}

std::string coverage(uint64_t sampled_ns, std::optional<uint64_t> cpu_ns) {
  if (!cpu_ns) return "-";
  return percent(static_cast<double>(sampled_ns), static_cast<double>(*cpu_ns));
}

std::string folded(const Context& context, size_t n, std::string_view noun, uint64_t cpu_ns) {
  const std::string text =
      fmt::format("  and {} more {}, {} s of CPU", count(n), plural_of(n, noun), seconds(cpu_ns));
  return context.style.faint(text) + "\n";
}

}  // namespace

std::string threads_section(const Context& context) {
  const Summary& summary = context.summary;
  if (summary.threads.empty()) return "";
  const bool several_processes = summary.processes.size() > 1;
  std::vector<Column> columns = {{.title = "tid"},
                                 {.title = "thread", .left = true, .minimum = 12}};
  if (several_processes) columns.push_back({.title = "of", .left = true, .minimum = 8});
  for (const char* title : {"CPU s", "share %", "sampled %", "samples", "complete %"}) {
    columns.push_back({.title = title});
  }
  Table table(std::move(columns));

  const double all_ns = static_cast<double>(summary.cpu_ns.value_or(summary.sampled.ns));
  const size_t shown = summary.threads.size() > kShown + 1 ? kShown : summary.threads.size();
  for (size_t i = 0; i < shown; ++i) {
    const ThreadSummary& row = summary.threads[i];
    const profile::Thread& thread = context.profile().threads[row.thread];
    const auto cpu_ns = static_cast<double>(row.known_cpu_ns());
    std::vector<std::string> cells = {std::to_string(thread.tid), printable(thread.name)};
    if (several_processes) {
      const profile::Process& process = context.profile().processes[thread.process];
      cells.push_back(fmt::format("{} {}", process.pid, printable(process.name)));
    }
    cells.push_back(optional_seconds(row.cpu_ns ? row.cpu_ns : row.sampled.ns));
    cells.push_back(percent(cpu_ns, all_ns));
    cells.push_back(coverage(row.sampled.ns, row.cpu_ns));
    cells.push_back(count(row.sampled.samples));
    cells.push_back(percent(static_cast<double>(row.complete_stacks),
                            static_cast<double>(row.sampled.samples)));
    table.add(std::move(cells), cpu_ns >= kStrongShare * all_ns);
  }
  std::string text =
      context.style.heading("Threads") + "\n" + table.text(context.options.width, context.style);
  if (shown < summary.threads.size()) {
    uint64_t cpu_ns = 0;
    for (size_t i = shown; i < summary.threads.size(); ++i) {
      cpu_ns += summary.threads[i].known_cpu_ns();
    }
    text += folded(context, summary.threads.size() - shown, "thread", cpu_ns);
  }
  return text;
}

std::string processes_section(const Context& context) {
  std::vector<ProcessSummary> processes = context.summary.processes;
  if (processes.size() < 2) return "";
  const auto cpu_of = [](const ProcessSummary& row) { return row.cpu_ns.value_or(row.sampled.ns); };
  std::stable_sort(processes.begin(), processes.end(),
                   [&](const auto& a, const auto& b) { return cpu_of(a) > cpu_of(b); });
  Table table({{.title = "pid"},
               {.title = "parent"},
               {.title = "process", .left = true, .minimum = 12},
               {.title = "CPU s"},
               {.title = "sampled %"},
               {.title = "samples"},
               {.title = "exit", .left = true}});
  const size_t shown = processes.size() > kShown + 1 ? kShown : processes.size();
  uint64_t folded_ns = 0;
  for (size_t i = 0; i < processes.size(); ++i) {
    const ProcessSummary& row = processes[i];
    if (i >= shown) {
      folded_ns += cpu_of(row);
      continue;
    }
    const profile::Process& process = context.profile().processes[row.process];
    table.add({std::to_string(process.pid), std::to_string(process.parent_pid),
               printable(process.name), seconds(cpu_of(row)), coverage(row.sampled.ns, row.cpu_ns),
               count(row.sampled.samples), ended_briefly(process)});
  }
  std::string text =
      context.style.heading("Processes") + "\n" + table.text(context.options.width, context.style);
  if (shown < processes.size()) {
    text += folded(context, processes.size() - shown, "process", folded_ns);
  }
  return text;
}

}  // namespace sampan::reports
