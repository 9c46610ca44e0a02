// The table of waits. Threads of one name are a pool with one row for each wait. In which function
// the holder of Python's lock was is in a table of its own (gil.cpp).
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/text/readable.h"
#include "reports/sections.h"
#include "reports/table.h"

namespace sampan::reports {
namespace {

constexpr size_t kShownWaits = 12;

struct Row {
  uint32_t process = profile::kNone;
  std::string thread;
  uint32_t wait = profile::kNone;
  uint64_t ns = 0;
  std::set<uint32_t> threads = {};
};

std::vector<Row> rows_of(const profile::View& view) {
  const profile::Profile& profile = *view.profile;
  std::map<std::tuple<uint32_t, std::string, std::string_view, std::string_view>, Row> rows;
  for (const uint32_t index : view.samples) {
    const profile::Sample& sample = profile.samples[index];
    if (sample.wait == profile::kNone) continue;
    const profile::Thread& thread = profile.threads[sample.thread];
    const profile::Wait& wait = profile.waits[sample.wait];
    Row& row = rows.try_emplace({thread.process, thread.name, wait.call, wait.object},
                                Row{thread.process, thread.name, sample.wait})
                   .first->second;
    row.ns += sample.weight_ns;
    row.threads.insert(sample.thread);
  }
  std::vector<Row> sorted;
  for (auto& [key, row] : rows) sorted.push_back(std::move(row));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Row& a, const Row& b) { return a.ns > b.ns; });
  return sorted;
}

// The name of the frame, without its brackets.
std::string what(const profile::Wait& wait) {
  const std::string name = profile::wait_name({{wait.call, wait.object}});
  return printable(name.substr(1, name.size() - 2));
}

}  // namespace

std::string waits_section(const Context& context) {
  const profile::Profile& profile = context.profile();
  if (profile.shown == profile::Shown::kLocks) return "";  // they have a table of their own
  const std::vector<Row> rows = rows_of(context.view);
  if (rows.empty()) return "";
  const bool several_processes = context.summary.processes.size() > 1;
  Table table({{.title = "waited"},
               {.title = "%"},
               {.title = "threads"},
               {.title = "thread", .left = true, .minimum = 12},
               {.title = "of", .left = true, .minimum = 8},
               {.title = "waits in", .left = true, .minimum = 20}});
  const auto all_ns = static_cast<double>(context.summary.waiting.ns + context.summary.runnable.ns);
  const size_t shown = context.options.top == 0 ? rows.size() : std::min(rows.size(), kShownWaits);
  uint64_t folded_ns = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    if (i >= shown) {
      folded_ns += row.ns;
      continue;
    }
    const profile::Process& process = profile.processes[row.process];
    const auto ns = static_cast<double>(row.ns);
    table.add(
        {seconds(row.ns), percent(ns, all_ns), count(row.threads.size()), printable(row.thread),
         several_processes ? fmt::format("{} {}", process.pid, printable(process.name)) : "",
         what(profile.waits[row.wait])},
        ns >= kStrongShare * all_ns);
  }
  std::string text = context.style.heading("Waits, longest first (seconds)") + "\n" +
                     table.text(context.options.width, context.style);
  if (shown < rows.size()) {
    text += context.style.faint(fmt::format("  and {} more, {} s", count(rows.size() - shown),
                                            seconds(folded_ns))) +
            "\n";
  }
  return text;
}

}  // namespace sampan::reports
