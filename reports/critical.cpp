// The critical path: what the time of a thread, a span or a section was spent on, on whichever thread.
#include <fmt/core.h>

#include "base/text/readable.h"
#include "base/time.h"
#include "profile/critical_path.h"
#include "profile/frames.h"
#include "profile/locks.h"
#include "reports/sections.h"
#include "reports/table.h"
#include "reports/watched_json.h"

namespace sampan::reports {
namespace {

constexpr size_t kShownHandovers = 10;

std::string thread_cell(const profile::Profile& profile, uint32_t thread) {
  const profile::Thread& row = profile.threads[thread];
  return printable(fmt::format("{} ({})", row.name, row.tid));
}

std::string path_lock_cell(const profile::Profile& profile, uint32_t lock) {
  return lock_cell(profile, lock, profile.locks[lock].kind);
}

std::string part_cell(const Context& context, const profile::PathRow& row) {
  const profile::Profile& profile = context.profile();
  switch (row.part) {
    case profile::PathPart::kCpu: return function_cell(profile, row.function, context.options);
    case profile::PathPart::kWait: return printable(wait_name(profile.waits[row.object]));
    case profile::PathPart::kUnsampled: return "(off CPU, or too short for a sample)";
    case profile::PathPart::kWoken:
      return fmt::format("(did not run yet, after {})", path_lock_cell(profile, row.object));
    case profile::PathPart::kNotKnown:
      return fmt::format("(waited for {}, ended by nobody known)",
                         path_lock_cell(profile, row.object));
  }
  return "";
}

std::string rows_table(const Context& context, const profile::CriticalPath& path) {
  Table table({{.title = "time"},
               {.title = "%"},
               function_column(context.options, "spent in"),
               {.title = "thread", .left = true, .minimum = 12}});
  const size_t shown = rows_shown(context, path.rows.size(), context.options.top);
  const auto total_ns = static_cast<double>(path.total_ns);
  for (size_t i = 0; i < shown; ++i) {
    const profile::PathRow& row = path.rows[i];
    const auto ns = static_cast<double>(row.ns);
    table.add({seconds(row.ns), percent(ns, total_ns), part_cell(context, row),
               thread_cell(context.profile(), row.thread)},
              ns >= kStrongShare * total_ns);
  }
  const std::string times =
      path.intervals == 1 ? "" : fmt::format(", {} times", count(path.intervals));
  const std::string title =
      fmt::format("Critical path of {}{}: {} s", printable(context.options.critical), times,
                  seconds(path.total_ns));
  return with_rest(context, table, title, shown, path.rows.size());
}

std::string handovers_table(const Context& context, const profile::CriticalPath& path) {
  if (path.handovers.empty()) return "";
  Table table({{.title = "times"},
               {.title = "let wait by", .left = true, .minimum = 12},
               {.title = "thread that waited", .left = true, .minimum = 12},
               {.title = "lock", .left = true, .minimum = 12}});
  const size_t shown = rows_shown(context, path.handovers.size(), kShownHandovers);
  for (size_t i = 0; i < shown; ++i) {
    const profile::PathHandover& row = path.handovers[i];
    table.add({count(row.count), thread_cell(context.profile(), row.waker),
               thread_cell(context.profile(), row.waiter),
               path_lock_cell(context.profile(), row.lock)});
  }
  return "\n" + with_rest(context, table, "Threads on it that let each other wait", shown,
                          path.handovers.size());
}

std::string_view part_word(profile::PathPart part) {
  switch (part) {
    case profile::PathPart::kCpu: return "cpu";
    case profile::PathPart::kWait: return "waiting";
    case profile::PathPart::kUnsampled: return "unsampled";
    case profile::PathPart::kWoken: return "woken";
    case profile::PathPart::kNotKnown: return "not known";
  }
  return "";
}

// The function, the wait, the lock; "" if there are no samples.
std::string part_name(const profile::Profile& profile, const profile::PathRow& row) {
  switch (row.part) {
    case profile::PathPart::kCpu: return std::string(function_name(profile, row.function));
    case profile::PathPart::kWait: return wait_name(profile.waits[row.object]);
    case profile::PathPart::kUnsampled: return "";
    default: return lock_name(profile, row.object);
  }
}

}  // namespace

std::string critical_section(const Context& context) {
  const profile::CriticalPath path = critical_path(context.view, context.options.critical);
  return rows_table(context, path) + handovers_table(context, path);
}

void write_critical_path(Json& json, const profile::View& view, const std::string& what) {
  const profile::Profile& profile = *view.profile;
  const profile::CriticalPath path = profile::critical_path(view, what);
  json.key("critical_path");
  json.object([&] {
    json.member("of", what);
    json.member("intervals", path.intervals);
    json.member("total_s", in_seconds(path.total_ns));
    json.objects("rows", path.rows, [&](const profile::PathRow& row) {
      json.member("tid", profile.threads[row.thread].tid);
      json.member("thread", profile.threads[row.thread].name);
      json.member("part", part_word(row.part));
      json.member("name", part_name(profile, row));
      json.member("time_s", in_seconds(row.ns));
    });
    json.objects("handovers", path.handovers, [&](const profile::PathHandover& row) {
      json.member("waiter_tid", profile.threads[row.waiter].tid);
      json.member("waker_tid", profile.threads[row.waker].tid);
      json.member("lock", lock_name(profile, row.lock));
      json.member("count", row.count);
    });
  });
}

}  // namespace sampan::reports
