// The table of Python's lock: who waited for it, and in which function its holder was meanwhile.
// Threads of one name are a pool, as in the table of waits.
#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text/readable.h"
#include "reports/sections.h"
#include "reports/table.h"

namespace sampan::reports {
namespace {

constexpr size_t kShownHolders = 12;

struct GilRow {
  uint32_t process = profile::kNone;
  std::string thread;
  uint32_t wait = profile::kNone;
  uint64_t ns = 0;
};

struct GilRows {
  std::vector<GilRow> sampled;  // most first
  uint64_t sampled_ns = 0, not_sampled_ns = 0;
};

GilRows gil_rows(const profile::View& view) {
  const profile::Profile& profile = *view.profile;
  GilRows result;
  std::map<std::tuple<uint32_t, std::string, uint32_t>, GilRow> rows;
  for (const uint32_t index : view.samples) {
    const profile::Sample& sample = profile.samples[index];
    if (sample.wait == profile::kNone || profile.waits[sample.wait].call != profile::kGil) continue;
    if (profile.waits[sample.wait].held_in.empty()) {
      result.not_sampled_ns += sample.weight_ns;
      continue;
    }
    const profile::Thread& thread = profile.threads[sample.thread];
    rows.try_emplace({thread.process, thread.name, sample.wait},
                     GilRow{thread.process, thread.name, sample.wait})
        .first->second.ns += sample.weight_ns;
    result.sampled_ns += sample.weight_ns;
  }
  for (auto& [key, row] : rows) result.sampled.push_back(std::move(row));
  std::ranges::stable_sort(result.sampled, std::greater(), &GilRow::ns);
  return result;
}

// "4712 worker" of "held by thread 4712 worker".
std::string holder_cell(const profile::Wait& wait) {
  constexpr std::string_view kHeldBy = "held by thread ";
  const size_t words = wait.object.starts_with(kHeldBy) ? kHeldBy.size() : 0;
  return printable(wait.object.substr(words));
}

}  // namespace

std::string gil_section(const Context& context) {
  const profile::Profile& profile = context.profile();
  const GilRows rows = gil_rows(context.view);
  if (rows.sampled.empty()) return "";
  const bool several_processes = context.summary.processes.size() > 1;
  Table table({{.title = "waited"},
               {.title = "%"},
               {.title = "thread", .left = true, .minimum = 12},
               {.title = "of", .left = true, .minimum = 8},
               {.title = "held by", .left = true, .minimum = 12},
               {.title = "in function", .left = true, .minimum = 16}});
  const auto all_ns = static_cast<double>(rows.sampled_ns);
  const size_t shown =
      context.options.top == 0 ? rows.sampled.size() : std::min(rows.sampled.size(), kShownHolders);
  uint64_t folded_ns = 0;
  for (size_t i = 0; i < rows.sampled.size(); ++i) {
    const GilRow& row = rows.sampled[i];
    if (i >= shown) {
      folded_ns += row.ns;
      continue;
    }
    const profile::Process& process = profile.processes[row.process];
    const profile::Wait& wait = profile.waits[row.wait];
    const auto ns = static_cast<double>(row.ns);
    table.add({seconds(row.ns), percent(ns, all_ns), printable(row.thread),
               several_processes ? fmt::format("{} {}", process.pid, printable(process.name)) : "",
               holder_cell(wait), printable(wait.held_in)},
              ns >= kStrongShare * all_ns);
  }
  std::string text =
      context.style.heading("The GIL: who waited, and what its holder did (seconds)") + "\n" +
      table.text(context.options.width, context.style);
  if (shown < rows.sampled.size()) {
    text += context.style.faint(fmt::format(
                "  and {} more, {} s", count(rows.sampled.size() - shown), seconds(folded_ns))) +
            "\n";
  }
  if (rows.not_sampled_ns != 0) {
    text +=
        context.style.faint(fmt::format("  not sampled: {} s, in which the holder had no sample",
                                        seconds(rows.not_sampled_ns))) +
        "\n";
  }
  return text;
}

}  // namespace sampan::reports
