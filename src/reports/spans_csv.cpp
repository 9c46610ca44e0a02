#include <fmt/core.h>

#include "reports/csv_row.h"
#include "reports/spans.h"

namespace sampan::reports {
namespace {

using profile::SpanSum;

std::string seconds_of(double ns) {
  return fmt::format("{:.9f}", ns * 1e-9);
}

void add(const SpanSum& sum, CsvRow* row) {
  row->seconds(sum.total_ns).seconds(sum.self_ns);
  row->raw(seconds_of(sum.error_ns()));
}

}  // namespace

std::string spans_csv(const SpanReport& report) {
  std::string text = report.tree ? "row,parent,depth," : "";
  text += "span,count,total_s,max_s,average_s,min_s,p50_s,p95_s,p99_s,not_ended";
  if (report.has_times()) {
    text +=
        ",cpu_s,cpu_self_s,cpu_error_s,waiting_s,waiting_self_s,waiting_error_s,"
        "runnable_s,runnable_self_s,runnable_error_s,samples";
  }
  text += '\n';
  CsvRow csv;
  for (uint32_t i = 0; i < report.table.rows.size(); ++i) {
    const profile::SpanRow& row = report.table.rows[i];
    if (report.tree) {
      csv.number(i);
      row.parent == profile::kNone ? csv.empty() : csv.number(row.parent);
      csv.number(row.depth);
    }
    csv.text(report.view.profile->markers.texts[row.name]).number(row.count);
    csv.seconds(row.total_ns).seconds(row.max_ns);
    csv.raw(seconds_of(row.average_ns())).seconds(row.min_ns);
    csv.seconds(row.p50_ns).seconds(row.p95_ns).seconds(row.p99_ns).number(row.not_ended());
    if (report.has_times()) {
      const profile::SpanTime& time = report.times[i];
      for (const SpanSum* sum : {&time.cpu, &time.waiting, &time.runnable}) add(*sum, &csv);
      csv.number(time.samples);
    }
    text += csv.end();
  }
  return text;
}

}  // namespace sampan::reports
