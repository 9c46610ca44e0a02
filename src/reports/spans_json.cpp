#include "reports/json_writer.h"
#include "reports/spans.h"

namespace sampan::reports {
namespace {

using profile::SpanRow;
using profile::SpanSum;

double in_seconds(uint64_t ns) {
  return static_cast<double>(ns) * 1e-9;
}

void write_sum(Json& json, const char* key, const SpanSum& sum) {
  json.key(key);
  json.object([&] {
    json.member("total", in_seconds(sum.total_ns));
    json.member("self", in_seconds(sum.self_ns));
    json.member("error", sum.error_ns() * 1e-9);
  });
}

void write_row(Json& json, const SpanReport& report, uint32_t index) {
  const SpanRow& row = report.table.rows[index];
  json.member("name", report.view.profile->markers.texts[row.name]);
  if (report.tree) {
    json.key("parent");
    row.parent == profile::kNone ? json.null() : json.value(row.parent);
    json.member("depth", row.depth);
  }
  json.member("count", row.count);
  json.member("total", in_seconds(row.total_ns));
  json.member("max", in_seconds(row.max_ns));
  json.member("average", row.average_ns() * 1e-9);
  json.member("min", in_seconds(row.min_ns));
  json.member("p50", in_seconds(row.p50_ns));
  json.member("p95", in_seconds(row.p95_ns));
  json.member("p99", in_seconds(row.p99_ns));
  json.member("closed_by_thread_end", row.closed[1]);
  json.member("closed_by_process_end", row.closed[2]);
  json.member("across_threads", row.across);
  if (!report.has_times()) return;
  write_sum(json, "cpu", report.times[index].cpu);
  write_sum(json, "waiting", report.times[index].waiting);
  write_sum(json, "runnable", report.times[index].runnable);
  json.member("samples", report.times[index].samples);
}

}  // namespace

std::string spans_json(const SpanReport& report, const std::vector<std::string>& notes) {
  Json json;
  json.object([&] {
    json.member("tree", report.tree);
    std::vector<std::string> all = report.notes();
    all.insert(all.end(), notes.begin(), notes.end());
    json.member("notes", all);
    json.key("spans");
    json.array_of([&] {
      for (uint32_t i = 0; i < report.table.rows.size(); ++i) {
        json.object([&] { write_row(json, report, i); });
      }
    });
  });
  return json.text();
}

}  // namespace sampan::reports
