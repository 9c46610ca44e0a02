#include <array>

#include "base/error.h"
#include "base/nearest.h"
#include "exporters/formats.h"
#include "exporters/output_file.h"
#include "reports/report.h"

namespace sampan::exporters {
namespace {

// chrome://tracing opens files of up to about 100 MB.
constexpr uint64_t kTraceBytes = 100'000'000;
// A page opens this much within three seconds.
constexpr uint64_t kPageBytes = 20'000'000;
constexpr uint64_t kSpeedscopeBytes = 200'000'000;
constexpr uint64_t kFlamegraphBytes = 10'000'000;
constexpr uint64_t kFirefoxBytes = 512 << 20;
// speedscope and the Firefox Profiler read the whole file before they show anything.
constexpr uint64_t kPerfScriptBytes = 100'000'000;
// Programs load a table of this size without much delay.
constexpr uint64_t kCsvSamplesBytes = 200'000'000;

}  // namespace

// The object of `sampan report --json`, see docs/report-json.md.
Outcome write_json(const profile::View& view, const std::string& path, uint64_t) {
  OutputFile file(path);
  file.write(reports::json(view));
  file.commit();
  return {};
}

std::span<const Format> formats() {
  static constexpr std::array kFormats = {
      Format{"trace", ".json", "https://ui.perfetto.dev or chrome://tracing", false, true, true,
             kTraceBytes, write_trace},
      Format{"html", ".html", "sampan view DIRECTORY, or any browser", false, true, false,
             kPageBytes, write_html},
      Format{"trace-gz", ".json.gz", "the same, of a tenth of the size", false, true, true,
             kTraceBytes, write_trace_gz},
      Format{"pprof", ".pb.gz", "go tool pprof -http=: FILE", true, false, false, 0, write_pprof},
      Format{"otlp", ".otlp", "OpenTelemetry's collector; sampan push sends it", true, false, false,
             0, write_otlp},
      Format{"pstats", ".prof", "snakeviz FILE, or python3 -m pstats FILE", true, false, true, 0,
             write_pstats},
      Format{"folded", ".folded", "flamegraph.pl FILE, or https://www.speedscope.app", true, false,
             false, 0, write_folded},
      Format{"speedscope", ".speedscope.json", "https://www.speedscope.app", true, false, false,
             kSpeedscopeBytes, write_speedscope},
      Format{"callgrind", ".callgrind", "kcachegrind FILE, or callgrind_annotate FILE", true, false,
             false, 0, write_callgrind},
      Format{"dot", ".dot", "dot -Tsvg FILE, or xdot FILE", true, false, false, 0, write_dot},
      Format{"firefox", ".firefox.json.gz", "https://profiler.firefox.com", true, true, false,
             kFirefoxBytes, write_firefox},
      Format{"perf-script", ".linux-perf.txt",
             "https://profiler.firefox.com, stackcollapse-perf.pl", true, true, false,
             kPerfScriptBytes, write_perf_script},
      Format{"csv", ".csv", "spreadsheets: functions", true, false, false, 0, write_csv},
      Format{"csv-threads", ".csv", "spreadsheets: threads", false, false, false, 0,
             write_csv_threads},
      Format{"csv-samples", ".csv", "R, pandas, databases: samples", false, true, false,
             kCsvSamplesBytes, write_csv_samples},
      Format{"spans", ".jsonl", "programs: a line for each begin and end of a span", false, true,
             false, 0, write_spans},
      Format{"json", ".json", "programs: as sampan report --json", true, true, false, 0,
             write_json},
      Format{"flamegraph", ".svg", "any browser", true, false, false, kFlamegraphBytes,
             write_flamegraph},
  };
  return kFormats;
}

const Format& format(std::string_view name) {
  std::vector<std::string_view> names;
  std::string known;
  for (const Format& candidate : formats()) {
    if (candidate.name == name) return candidate;
    names.push_back(candidate.name);
    known += known.empty() ? "" : ", ";
    known += candidate.name;
  }
  throw Error("no format '{}'{} (formats: {})", name, did_you_mean(name, names), known);
}

}  // namespace sampan::exporters
