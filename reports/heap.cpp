// The page of the heap: what was allocated, what lives, what grew, what may be leaked.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text/readable.h"
#include "profile/frames.h"
#include "profile/heap_tables.h"
#include "profile/own_functions.h"
#include "profile/shown.h"
#include "reports/sections.h"
#include "reports/table.h"

namespace sampan::reports {
namespace {

constexpr size_t kShownGrowth = 8, kShownLeaks = 10, kShownFreed = 8;
constexpr size_t kShownCallers = 3;  // of a stack in a cell
// A time that was left out below this share of the lives needs no word.
constexpr double kNearlyAllOfTime = 0.99;

uint64_t weight_of(double bytes) {
  return static_cast<uint64_t>(std::llround(std::max(bytes, 0.0) * profile::kWeightOfOne));
}

// Numbers of bytes, all with one prefix.
class Bytes {
 public:
  Bytes(const Context& context, double largest)
      : unit_(context.profile().session, weight_of(largest)) {}
  const std::string& name() const { return unit_.name(); }
  std::string text(double bytes) const { return unit_.text(weight_of(bytes)); }
  std::string with_sign(double bytes) const {
    return (bytes < 0 ? "-" : "+") + text(std::abs(bytes));
  }

 private:
  profile::Unit unit_;
};

std::string amount(const Context& context, double bytes) {
  const Bytes unit(context, bytes);
  return unit.text(bytes) + " " + unit.name();
}

std::string amount(const Context& context, const profile::Estimate& sum) {
  const Bytes unit(context, sum.bytes);
  return fmt::format("{} ± {} {} in {} blocks", unit.text(sum.bytes), unit.text(sum.bytes_error()),
                     unit.name(), count(static_cast<uint64_t>(std::llround(sum.blocks))));
}

// For settings, which people give in powers of two: "512 KiB".
std::string setting(uint64_t bytes) {
  constexpr uint64_t kKiB = 1024;
  if (bytes == 0 || bytes % kKiB != 0) return plural(bytes, "byte");
  const bool is_large = bytes % (kKiB * kKiB) == 0;
  return is_large ? count(bytes / kKiB / kKiB) + " MiB" : count(bytes / kKiB) + " KiB";
}

std::string at(SessionNs time_ns) {
  return seconds(time_ns) + " s";
}

std::string estimates(const Context& context, const profile::HeapTotals& totals) {
  std::string text = item(context, "allocated", amount(context, totals.allocated));
  if (!totals.live_is_known) {
    return text + item(context, "live",
                       "not known: blocks were freed by functions that sampan does not see (a "
                       "library opened with "
                       "RTLD_DEEPBIND, or an allocator's own); what was allocated is right",
                       Tone::kWarning);
  }
  std::string live = amount(context, totals.live);
  live += context.view.to_ns == UINT64_MAX ? " at the end" : " at " + at(context.view.to_ns);
  live += fmt::format("; at most {} at {}", amount(context, totals.peak_bytes), at(totals.peak_ns));
  text += item(context, "live", live);
  // A program that frees all at its end: what it had is at another time.
  if (totals.live.draws == 0 && totals.peak_bytes > 0 &&
      context.view.heap == profile::HeapPart::kLive) {
    text += item(
        context, "note",
        fmt::format(
            "`--to {:.3f}s` shows what lived then, `--heap=allocated` all that was allocated",
            in_seconds(totals.peak_ns)));  // as --to takes it: without a separator of thousands
  }
  if (totals.median_life_ns) {
    text += item(context, "lifetime",
                 fmt::format("of freed blocks: half at most {}, 9 of 10 at most {}",
                             duration(static_cast<double>(*totals.median_life_ns)),
                             duration(static_cast<double>(*totals.long_life_ns))));
  }
  return text;
}

std::string sampling(const Context& context, const profile::HeapTotals& totals) {
  const profile::WatchedTime time = watched_time(context.profile(), profile::Watched::kHeap);
  std::string text = plural(totals.allocated.draws, "allocation") + " drawn";
  if (time.most_setting != 0) {
    text += fmt::format(", one in {} on average", setting(time.least_setting));
    if (time.most_setting != time.least_setting) {
      text += fmt::format(", in {} at other times", setting(time.most_setting));
    }
  }
  text += "; ± is the half of a 95 % interval";
  std::string lines = item(context, "sampling", text);
  const auto on = static_cast<double>(time.on_ns), lived = static_cast<double>(time.lived_ns);
  if (on < kNearlyAllOfTime * lived) {
    lines +=
        item(context, "on",
             fmt::format("for {} s of the {} s that the processes lived: what was allocated at "
                         "other times is not counted",
                         seconds(time.on_ns), seconds(time.lived_ns)),
             Tone::kWarning);
  }
  if (context.profile().unknown_frees != 0) {
    lines += item(context, "note",
                  fmt::format("{} were of blocks whose allocation is not in the recording, and are "
                              "not counted",
                              plural(context.profile().unknown_frees, "free")));
  }
  return lines;
}

std::string place_cell(const Context& context, uint32_t function) {
  if (function == profile::kNone) return "";
  const profile::Function& row = context.profile().functions[function];
  const std::string file = printable(context.profile().strings[row.file]);
  return file.empty() || row.line == 0 ? file : fmt::format("{}:{}", file, row.line);
}

// "parse ← load ← main", without the libraries that allocated for them.
std::string stack_cell(const Context& context, uint32_t stack) {
  std::vector<profile::Frame> frames;
  leaf_to_root(context.profile(), stack, &frames);
  if (frames.empty()) return "[unknown]";
  const uint32_t own = own_function(context.profile(), stack);
  frames.erase(frames.begin(), std::ranges::find(frames, own, &profile::Frame::function));
  std::string text;
  for (size_t i = 0; i < std::min(frames.size(), kShownCallers); ++i) {
    text += (i == 0 ? "" : " ← ") +
            function_cell(context.profile(), frames[i].function, context.options);
  }
  return frames.size() > kShownCallers ? text + " ← …" : text;
}

std::string functions_section(const Context& context) {
  const bool live_first = context.view.heap == profile::HeapPart::kLive;
  const std::vector<profile::HeapFunction> rows = heap_functions(context.view, context.view.heap);
  if (rows.empty()) return "";
  double live = 0, allocated = 0;
  for (const profile::HeapFunction& row : rows) {
    live += row.live.bytes;
    allocated += row.allocated.bytes;
  }
  const Bytes live_unit(context, live), unit(context, allocated);
  Table table({{.title = "live"},
               {.title = "±"},
               {.title = "%"},
               {.title = "total"},
               {.title = "allocated"},
               {.title = "±"},
               {.title = "%"},
               {.title = "total"},
               function_column(context.options),
               {.title = "file:line", .left = true, .minimum = 11, .cut = cut_path},
               {.title = "module", .left = true, .minimum = 8}});
  const size_t shown = rows_shown(context, rows.size(), context.options.top);
  for (size_t i = 0; i < shown; ++i) {
    const profile::HeapFunction& row = rows[i];
    const double share = live_first ? row.live.bytes / live : row.allocated.bytes / allocated;
    table.add(
        {live_unit.text(row.live.bytes), live_unit.text(row.live.bytes_error()),
         percent(row.live.bytes, live), live_unit.text(row.live_total.bytes),
         unit.text(row.allocated.bytes), unit.text(row.allocated.bytes_error()),
         percent(row.allocated.bytes, allocated), unit.text(row.allocated_total.bytes),
         function_cell(context.profile(), row.function, context.options),
         place_cell(context, row.function), function_module_cell(context.profile(), row.function)},
        share >= kStrongShare);
  }
  return with_rest(context, table,
                   fmt::format("Functions, most {} bytes first (live in {}, allocated in {})",
                               live_first ? "live" : "allocated", live_unit.name(), unit.name()),
                   shown, rows.size());
}

std::string growth_section(const Context& context) {
  std::vector<profile::Growth> rows = heap_growth(context.view);
  // What sampling alone explains is not growth.
  std::erase_if(rows, [](const profile::Growth& row) { return row.bytes() <= row.error_bytes; });
  if (rows.empty()) return "";
  double largest = 0;
  for (const profile::Growth& row : rows) largest = std::max(largest, row.after_bytes);
  const Bytes unit(context, largest);
  Table table({{.title = "growth"},
               {.title = "±"},
               {.title = "from"},
               {.title = "to"},
               function_column(context.options),
               {.title = "file:line", .left = true, .minimum = 11, .cut = cut_path}});
  const size_t shown = rows_shown(context, rows.size(), kShownGrowth);
  for (size_t i = 0; i < shown; ++i) {
    const profile::Growth& row = rows[i];
    table.add({unit.with_sign(row.bytes()), unit.text(row.error_bytes), unit.text(row.before_bytes),
               unit.text(row.after_bytes),
               function_cell(context.profile(), row.function, context.options),
               place_cell(context, row.function)});
  }
  return with_rest(context, table,
                   fmt::format("Growth of what lives, from {} to the end ({})",
                               at(middle_of(context.view)), unit.name()),
                   shown, rows.size());
}

std::string leaks_section(const Context& context) {
  const std::vector<profile::PossibleLeak> rows = possible_leaks(context.view);
  if (rows.empty()) return "";
  const Bytes unit(context, rows.front().early.bytes);
  Table table({{.title = "live"},
               {.title = "±"},
               {.title = "survived %"},
               {.title = "later too"},
               {.title = "since s"},
               {.title = "allocated by", .left = true, .minimum = 20}});
  const size_t shown = rows_shown(context, rows.size(), kShownLeaks);
  for (size_t i = 0; i < shown; ++i) {
    const profile::PossibleLeak& row = rows[i];
    table.add({unit.text(row.early.bytes), unit.text(row.early.bytes_error()),
               percent(row.survived, 1), row.late.draws == 0 ? "" : unit.text(row.late.bytes),
               seconds(row.first_ns), stack_cell(context, row.stack)});
  }
  return with_rest(context, table,
                   fmt::format("Possible leaks: allocated before {}, live at the end ({})",
                               at(middle_of(context.view)), unit.name()),
                   shown, rows.size());
}

std::string freed_section(const Context& context) {
  const std::vector<profile::FreedBy> rows = freed_by(context.view);
  if (rows.empty()) return "";
  const Bytes unit(context, rows.front().freed.bytes);
  Table table({{.title = "freed"},
               {.title = "±"},
               function_column(context.options, "allocated by"),
               function_column(context.options, "freed by")});
  const size_t shown = rows_shown(context, rows.size(), kShownFreed);
  for (size_t i = 0; i < shown; ++i) {
    const profile::FreedBy& row = rows[i];
    table.add({unit.text(row.freed.bytes), unit.text(row.freed.bytes_error()),
               function_cell(context.profile(), row.allocating, context.options),
               function_cell(context.profile(), row.freeing, context.options)});
  }
  return with_rest(context, table, fmt::format("Freed, most bytes first ({})", unit.name()), shown,
                   rows.size());
}

}  // namespace

std::string heap_figures(const Context& context) {
  const profile::HeapTotals totals = heap_totals(context.view);
  return estimates(context, totals) + sampling(context, totals);
}

std::string heap_section(const Context& context) {
  std::string text;
  for (const std::string& section : {functions_section(context), growth_section(context),
                                     leaks_section(context), freed_section(context)}) {
    if (!text.empty() && !section.empty()) text += '\n';
    text += section;
  }
  return text;
}

}  // namespace sampan::reports
