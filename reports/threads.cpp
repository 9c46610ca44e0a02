// The tables of threads and of processes, busiest first: true CPU and sampled CPU or, with waits,
// how their time was divided.
#include <fmt/core.h>

#include <algorithm>
#include <functional>

#include "base/text/readable.h"
#include "reports/sections.h"
#include "reports/table.h"

namespace sampan::reports {
namespace {

// Longer lists are folded: "and 37 more threads, 0.3 s".
constexpr size_t kShownThreads = 20;
// So are those that used less than this share of the CPU, and of what the busiest one used, if there are several: the
// shells of a wrapper are, two hundred equal threads are not.
constexpr double kLeastShare = 0.01;
constexpr double kLeastOfBusiest = 0.05;
constexpr size_t kFewestFolded = 4;

std::string coverage(uint64_t sampled_ns, std::optional<uint64_t> cpu_ns) {
  if (!cpu_ns) return "-";
  return percent(static_cast<double>(sampled_ns), static_cast<double>(*cpu_ns));
}

// The title of the column with the weights on CPU.
std::string cpu_title(const profile::Unit& unit) {
  return unit.is_time() ? "CPU s" : unit.name();
}

// The row of a thread.
struct Figure {
  std::string title;
  std::function<std::string(const profile::ThreadSummary&)> cell;
};

std::vector<Figure> figures_of(const Context& context) {
  const profile::Unit unit = context.unit();
  const auto cpu = [unit](const profile::ThreadSummary& row) {
    return unit.text(row.known_cpu_ns());
  };
  const auto samples = [](const profile::ThreadSummary& row) { return count(row.samples()); };
  if (context.profile().shown == profile::Shown::kLocks) {
    const auto all_ns = static_cast<double>(context.summary.waiting.ns);
    return {{"waited s", [](const auto& row) { return seconds(row.waiting.ns); }},
            {"share %",
             [all_ns](const auto& row) {
               return percent(static_cast<double>(row.waiting.ns), all_ns);
             }},
            {"samples", samples}};
  }
  if (context.view.is_of_wall_time()) {
    const auto share = [](uint64_t ns, const profile::ThreadSummary& row) {
      return percent(static_cast<double>(ns), static_cast<double>(row.wall_ns()));
    };
    std::vector<Figure> figures = {
        {"wall s", [](const auto& row) { return seconds(row.wall_ns()); }},
        {cpu_title(unit), cpu},
        {"CPU %", [share](const auto& row) { return share(row.known_cpu_ns(), row); }},
        {"waiting %", [share](const auto& row) { return share(row.waiting.ns, row); }}};
    if (!context.profile().session.is_imported()) {
      figures.push_back(
          {"queued %", [share](const auto& row) { return share(row.runnable.ns, row); }});
    }
    figures.push_back({"samples", samples});
    return figures;
  }
  const double all_ns =
      static_cast<double>(context.summary.cpu_ns.value_or(context.summary.sampled.ns));
  std::vector<Figure> figures = {{cpu_title(unit), cpu},
                                 {"share %", [all_ns](const auto& row) {
                                    return percent(static_cast<double>(row.known_cpu_ns()), all_ns);
                                  }}};
  if (context.profile().shown == profile::Shown::kSamples) {
    figures.push_back(
        {"sampled %", [](const auto& row) { return coverage(row.sampled.ns, row.cpu_ns); }});
  }
  figures.push_back({"samples", samples});
  figures.push_back({"complete %", [](const auto& row) {
                       return percent(static_cast<double>(row.complete_stacks),
                                      static_cast<double>(row.samples()));
                     }});
  return figures;
}

// How a process ended: "0", "SIGSEGV", "exec", "lives", "-".
std::string outcome_cell(const profile::Process& process) {
  if (process.exit_signal) return signal_name(*process.exit_signal);
  if (process.exit_status) return std::to_string(*process.exit_status);
  if (process.lives_on) return "lives";
  return process.replaced ? "exec" : "-";
}

// How many rows, busiest first, are worth a line each.
template <typename Row, typename Cpu, typename Matters>
size_t shown_of(const Context& context, const std::vector<Row>& rows, Cpu cpu_of, Matters matters) {
  size_t shown = rows.size();
  if (!context.view.is_of_wall_time() && shown > 0) {
    const auto all_ns =
        static_cast<double>(context.summary.cpu_ns.value_or(context.summary.sampled.ns));
    const double least_ns =
        std::min(kLeastShare * all_ns, kLeastOfBusiest * static_cast<double>(cpu_of(rows.front())));
    while (shown > 1 && static_cast<double>(cpu_of(rows[shown - 1])) < least_ns &&
           !matters(rows[shown - 1])) {
      --shown;
    }
  }
  if (rows.size() - shown < kFewestFolded) shown = rows.size();
  return shown > kShownThreads + 1 ? kShownThreads : shown;
}

std::string folded(const Context& context, size_t n, std::string_view noun, uint64_t cpu_ns) {
  const profile::Unit unit = context.unit();
  const std::string text = fmt::format("  and {} more {}, {}{}", count(n), plural_of(n, noun),
                                       unit.amount(cpu_ns), unit.is_time() ? " of CPU" : "");
  return context.style.faint(text) + "\n";
}

}  // namespace

std::string threads_section(const Context& context) {
  const profile::Summary& summary = context.summary;
  if (summary.threads.empty()) return "";
  const bool several_processes = summary.processes.size() > 1;
  std::vector<Column> columns = {{.title = "tid"},
                                 {.title = "thread", .left = true, .minimum = 12}};
  if (several_processes) columns.push_back({.title = "of", .left = true, .minimum = 8});
  const std::vector<Figure> figures = figures_of(context);
  for (const Figure& figure : figures) columns.push_back({.title = figure.title});
  Table table(std::move(columns));

  std::vector<profile::ThreadSummary> rows = summary.threads;
  const size_t idle =
      hide_idle(context)
          ? std::erase_if(rows, [](const profile::ThreadSummary& row) { return row.only_waits(); })
          : 0;
  const double all_ns = static_cast<double>(summary.cpu_ns.value_or(summary.sampled.ns));
  const size_t shown = shown_of(
      context, rows, [](const profile::ThreadSummary& row) { return row.known_cpu_ns(); },
      [](const profile::ThreadSummary&) { return false; });
  for (size_t i = 0; i < shown; ++i) {
    const profile::ThreadSummary& row = rows[i];
    const profile::Thread& thread = context.profile().threads[row.thread];
    std::vector<std::string> cells = {std::to_string(thread.tid), printable(thread.name)};
    if (several_processes) {
      const profile::Process& process = context.profile().processes[thread.process];
      cells.push_back(fmt::format("{} {}", process.pid, printable(process.name)));
    }
    for (const Figure& figure : figures) cells.push_back(figure.cell(row));
    table.add(std::move(cells), static_cast<double>(row.known_cpu_ns()) >= kStrongShare * all_ns);
  }
  std::string text =
      context.style.heading("Threads") + "\n" + table.text(context.options.width, context.style);
  if (shown < rows.size()) {
    uint64_t cpu_ns = 0;
    for (size_t i = shown; i < rows.size(); ++i) cpu_ns += rows[i].known_cpu_ns();
    text += folded(context, rows.size() - shown, "thread", cpu_ns);
  }
  if (idle > 0) {
    text += context.style.faint(fmt::format("  and {} that only {} (--idle shows {})",
                                            plural(idle, "thread"), idle == 1 ? "waits" : "wait",
                                            idle == 1 ? "it" : "them")) +
            "\n";
  }
  return text;
}

std::string processes_section(const Context& context) {
  std::vector<profile::ProcessSummary> processes = context.summary.processes;
  if (processes.size() < 2) return "";
  const auto cpu_of = [](const profile::ProcessSummary& row) {
    return row.cpu_ns.value_or(row.sampled.ns);
  };
  std::stable_sort(processes.begin(), processes.end(),
                   [&](const auto& a, const auto& b) { return cpu_of(a) > cpu_of(b); });
  const profile::Unit unit = context.unit();
  Table table({{.title = "pid"},
               {.title = "parent"},
               {.title = "process", .left = true, .minimum = 12},
               {.title = cpu_title(unit)},
               {.title = "sampled %"},
               {.title = "samples"},
               {.title = "exit", .left = true}});
  const size_t shown =
      shown_of(context, processes, cpu_of, [&](const profile::ProcessSummary& row) {
        return context.profile().processes[row.process].exit_signal.has_value();
      });
  uint64_t folded_ns = 0;
  for (size_t i = 0; i < processes.size(); ++i) {
    const profile::ProcessSummary& row = processes[i];
    if (i >= shown) {
      folded_ns += cpu_of(row);
      continue;
    }
    const profile::Process& process = context.profile().processes[row.process];
    table.add({std::to_string(process.pid), std::to_string(process.parent_pid),
               printable(process.name), unit.text(cpu_of(row)),
               coverage(row.sampled.ns, row.cpu_ns), count(row.samples), outcome_cell(process)});
  }
  std::string text =
      context.style.heading("Processes") + "\n" + table.text(context.options.width, context.style);
  if (shown < processes.size()) {
    text += folded(context, processes.size() - shown, "process", folded_ns);
  }
  return text;
}

}  // namespace sampan::reports
