// The page of locks: which were waited for, by whom, and who held them meanwhile.
#include <fmt/core.h>

#include <cmath>

#include "base/text/readable.h"
#include "profile/locks.h"
#include "profile/shown.h"
#include "reports/sections.h"
#include "reports/table.h"

namespace sampan::reports {
namespace {

constexpr size_t kShownBlocked = 15;
constexpr double kNearlyAlways = 0.99;

uint64_t whole(double value) {
  return static_cast<uint64_t>(std::llround(value));
}

std::string function_or_unknown(const Context& context, uint32_t function) {
  return function == profile::kNone ? "-"
                                    : function_cell(context.profile(), function, context.options);
}

std::string table_of_locks(const Context& context) {
  const std::vector<profile::LockRow> rows = lock_table(context.view);
  if (rows.empty()) return "";
  const double all_ns = lock_total(context.view).waited_ns;
  Table table({{.title = "waited"},
               {.title = "±"},
               {.title = "%"},
               {.title = "waits"},
               {.title = "longest"},
               {.title = "threads"},
               {.title = "lock", .left = true, .minimum = 20}});
  const size_t shown = rows_shown(context, rows.size(), context.options.top);
  for (size_t i = 0; i < shown; ++i) {
    const profile::LockRow& row = rows[i];
    table.add({seconds(whole(row.sum.waited_ns)), seconds(whole(row.sum.waited_error_ns())),
               percent(row.sum.waited_ns, all_ns), count(whole(row.sum.waits)),
               duration(static_cast<double>(row.sum.longest_ns)), count(row.threads),
               lock_cell(context.profile(), row.lock, row.kind, row.locks)},
              row.sum.waited_ns >= kStrongShare * all_ns);
  }
  return with_rest(context, table, "Locks, most waited first (seconds)", shown, rows.size());
}

std::string table_of_pairs(const Context& context, const std::vector<profile::BlockedBy>& all,
                           std::string_view title, std::string_view other) {
  std::vector<profile::BlockedBy> rows = all;
  std::erase_if(rows, [](const profile::BlockedBy& row) { return row.holder == profile::kNone; });
  if (rows.empty()) return "";
  Table table({{.title = "waited"},
               {.title = "waits"},
               {.title = "longest"},
               function_column(context.options, "waited in"),
               function_column(context.options, std::string(other)),
               {.title = "lock", .left = true, .minimum = 12}});
  const size_t shown = rows_shown(context, rows.size(), kShownBlocked);
  for (size_t i = 0; i < shown; ++i) {
    const profile::BlockedBy& row = rows[i];
    table.add({seconds(whole(row.sum.waited_ns)), count(whole(row.sum.waits)),
               duration(static_cast<double>(row.sum.longest_ns)),
               function_or_unknown(context, row.waiter), function_or_unknown(context, row.holder),
               printable(lock_name(context.profile(), row.lock))});
  }
  return with_rest(context, table, title, shown, rows.size());
}

// How much of the waiting has a known holder.
std::string known_holders(const Context& context) {
  double known_ns = 0, all_ns = 0;
  for (const profile::BlockedBy& row : blocked_by(context.view)) {
    all_ns += row.sum.waited_ns;
    if (row.holder != profile::kNone) known_ns += row.sum.waited_ns;
  }
  return percent(known_ns, all_ns);
}

}  // namespace

std::string lock_cell(const profile::Profile& profile, uint32_t lock, wire::LockKind kind,
                      uint64_t locks) {
  const std::string name = printable(lock_name(profile, lock));
  if (locks <= 1) return fmt::format("{} {}", profile::kind_name(kind), name);
  const size_t of = name.find(" of ");
  return fmt::format("{}{}", plural(locks, profile::kind_name(kind)),
                     of == std::string::npos ? " " + name : name.substr(of));
}

std::string lock_figures(const Context& context) {
  const profile::LockSum sum = lock_total(context.view);
  const profile::WatchedTime time = watched_time(context.profile(), profile::Watched::kLocks);
  std::string waited =
      fmt::format("{} ± {} s in {}", seconds(whole(sum.waited_ns)),
                  seconds(whole(sum.waited_error_ns())), plural(whole(sum.waits), "wait"));
  if (sum.draws != 0) {
    waited += fmt::format(", at most {}; the holder is known for {} % of it",
                          duration(static_cast<double>(sum.longest_ns)), known_holders(context));
  }
  std::string text = item(context, "waited", waited);
  std::string sampling = plural(sum.draws, "wait") + " recorded";
  if (time.most_setting != 0) {
    sampling +=
        fmt::format(": all of {} and more, of shorter ones a part that grows with their time",
                    duration(static_cast<double>(time.most_setting)));
  }
  text += item(context, "sampling", sampling + "; ± is the half of a 95 % interval");
  if (static_cast<double>(time.on_ns) < kNearlyAlways * static_cast<double>(time.lived_ns)) {
    text +=
        item(context, "on",
             fmt::format("for {} s of the {} s that the processes lived: waits at other times are "
                         "not counted",
                         seconds(time.on_ns), seconds(time.lived_ns)),
             Tone::kWarning);
  }
  return text;
}

std::string locks_section(const Context& context) {
  std::string text;
  for (const std::string& section :
       {table_of_locks(context),
        table_of_pairs(context, blocked_by(context.view),
                       "Who waited for whom, longest first (seconds)", "held in"),
        table_of_pairs(context, woken_by(context.view),
                       "Who ended the waits, longest first (seconds)", "woken in")}) {
    if (!text.empty() && !section.empty()) text += '\n';
    text += section;
  }
  return text;
}

}  // namespace sampan::reports
