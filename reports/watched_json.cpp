#include "reports/watched_json.h"

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "profile/frames.h"
#include "profile/heap_tables.h"
#include "profile/locks.h"
#include "profile/shown.h"
#include "reports/table.h"

namespace sampan::reports {
namespace {

void write_estimate(Json& json, const char* key, const profile::Estimate& sum) {
  json.key(key);
  json.object([&] {
    json.member("bytes", sum.bytes);
    json.member("bytes_error", sum.bytes_error());
    json.member("blocks", sum.blocks);
    json.member("blocks_error", sum.blocks_error());
    json.member("draws", sum.draws);
  });
}

void write_function(Json& json, const profile::Profile& profile, uint32_t function) {
  json.member("name", function_name(profile, function));
  json.member("module", function_module_path(profile, function));
  const bool is_known = function != profile::kNone;
  json.member("file", is_known ? profile.strings[profile.functions[function].file] : std::string());
  json.member("line", is_known ? profile.functions[function].line : 0);
}

std::vector<std::string> stack_names(const profile::Profile& profile, uint32_t stack) {
  std::vector<profile::Frame> frames;
  leaf_to_root(profile, stack, &frames);
  std::vector<std::string> names;
  for (const profile::Frame& frame : frames) {
    names.emplace_back(function_name(profile, frame.function));
  }
  return names;
}

std::optional<double> optional_s(const std::optional<uint64_t>& ns) {
  return ns ? std::optional(in_seconds(*ns)) : std::nullopt;
}

void write_sum(Json& json, const profile::LockSum& sum) {
  json.member("waiting_s", sum.waited_ns / 1e9);
  json.member("waiting_error_s", sum.waited_error_ns() / 1e9);
  json.member("waits", sum.waits);
  json.member("longest_s", in_seconds(sum.longest_ns));
  json.member("draws", sum.draws);
}

std::optional<std::string> optional_name(const profile::Profile& profile, uint32_t function) {
  if (function == profile::kNone) return std::nullopt;
  return std::string(function_name(profile, function));
}

void write_pairs(Json& json, const profile::Profile& profile, const char* key, const char* other,
                 const std::vector<profile::BlockedBy>& rows) {
  json.objects(key, rows, [&](const profile::BlockedBy& row) {
    json.member("lock", lock_name(profile, row.lock));
    json.member("waited_in", optional_name(profile, row.waiter));
    json.member(other, optional_name(profile, row.holder));
    write_sum(json, row.sum);
  });
}

}  // namespace

void write_heap(Json& json, const profile::View& view) {
  const profile::Profile& profile = *view.profile;
  const profile::HeapTotals totals = heap_totals(view);
  const profile::WatchedTime time = watched_time(profile, profile::Watched::kHeap);
  json.key("heap");
  json.object([&] {
    json.member("shown", view.heap == profile::HeapPart::kLive ? "live" : "allocated");
    write_estimate(json, "allocated", totals.allocated);
    json.member("live_known", totals.live_is_known);
    write_estimate(json, "live", totals.live);
    json.member("peak_bytes", totals.peak_bytes);
    json.member("peak_s", in_seconds(totals.peak_ns));
    json.member("median_life_s", optional_s(totals.median_life_ns));
    json.member("long_life_s", optional_s(totals.long_life_ns));
    json.member("mean_bytes", time.least_setting);
    json.member("on_s", in_seconds(time.on_ns));
    json.member("lived_s", in_seconds(time.lived_ns));
    json.member("unknown_frees", profile.unknown_frees);
    json.member("middle_s", in_seconds(middle_of(view)));
    json.objects("functions", heap_functions(view, view.heap),
                 [&](const profile::HeapFunction& row) {
                   write_function(json, profile, row.function);
                   write_estimate(json, "live", row.live);
                   write_estimate(json, "live_total", row.live_total);
                   write_estimate(json, "allocated", row.allocated);
                   write_estimate(json, "allocated_total", row.allocated_total);
                 });
    json.objects("growth", heap_growth(view), [&](const profile::Growth& row) {
      write_function(json, profile, row.function);
      json.member("from_bytes", row.before_bytes);
      json.member("to_bytes", row.after_bytes);
      json.member("error_bytes", row.error_bytes);
    });
    json.objects("possible_leaks", possible_leaks(view), [&](const profile::PossibleLeak& row) {
      json.member("stack", stack_names(profile, row.stack));
      write_estimate(json, "early", row.early);
      write_estimate(json, "late", row.late);
      json.member("survived", row.survived);
      json.member("first_s", in_seconds(row.first_ns));
    });
    json.objects("freed", freed_by(view), [&](const profile::FreedBy& row) {
      json.member("allocated_by", function_name(profile, row.allocating));
      json.member("freed_by", function_name(profile, row.freeing));
      write_estimate(json, "freed", row.freed);
    });
  });
}

void write_locks(Json& json, const profile::View& view) {
  const profile::Profile& profile = *view.profile;
  const profile::WatchedTime time = watched_time(profile, profile::Watched::kLocks);
  json.key("locks");
  json.object([&] {
    write_sum(json, lock_total(view));
    json.member("limit_s", in_seconds(time.most_setting));
    json.member("on_s", in_seconds(time.on_ns));
    json.member("lived_s", in_seconds(time.lived_ns));
    json.objects("table", lock_table(view), [&](const profile::LockRow& row) {
      json.member("kind", profile::kind_name(row.kind));
      json.member("name", lock_name(profile, row.lock));
      json.member("locks", row.locks);
      json.member("threads", row.threads);
      write_sum(json, row.sum);
    });
    write_pairs(json, profile, "blocked_by", "held_in", blocked_by(view));
    write_pairs(json, profile, "woken_by", "woken_in", woken_by(view));
  });
}

}  // namespace sampan::reports
