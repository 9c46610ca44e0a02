// The Firefox Profiler's processed profile, for https://profiler.firefox.com and profiler-cli.
// Format: src/types/profile.ts and docs-developer/ of github.com/firefox-devtools/profiler.
//
// - The layout is exactly that of version 60, the first in which threads share their tables. The
//   site upgrades older versions and refuses versions newer than its own.
// - Every column is as long as its table's `length`; stacks come after their prefixes; times are
//   milliseconds since the session's start and ascend.
// - A sample's weight is its CPU or its wait in milliseconds (weightType "tracing-ms"), so totals
//   are those of the report. threadCPUDelta is the CPU since the previous sample: the graph of a
//   thread is its use of a CPU.
// - Python's functions are those of the profiler's filter "JavaScript": it has no other language that
//   is interpreted. The filter is there only if some stacks have such functions.
// - Waits have a category that the profiler takes for idle.
// - The site chooses 15 threads to show, unless it is told which. A pid or tid that was used again,
//   or by another program after exec, becomes "100.1".
// - Markers: firefox_markers.h.
// - Above 512 MiB, the longest string there, a slow parser does the work. The limit applies to the
//   text before gzip. A path that ends in ".json" gets the text itself.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "exporters/escaped_text.h"
#include "exporters/firefox_categories.h"
#include "exporters/firefox_markers.h"
#include "exporters/firefox_tables.h"
#include "exporters/formats.h"
#include "exporters/output_file.h"
#include "exporters/sample_windows.h"
#include "profile/unit.h"

namespace sampan::exporters {
namespace {

using profile::Process;
using profile::Thread;

constexpr int kVersion = 60;
constexpr int kGeckoVersion = 30;  // of the format before processing: no meaning here
constexpr size_t kVisibleThreads = 200;
constexpr uint64_t kUsualRate = 250;
constexpr uint64_t kMarkersPart = 4;  // markers have a quarter of the file at most

std::string milliseconds_or_null(std::optional<uint64_t> ns) {
  return ns ? milliseconds(*ns) : "null";
}

// Text into a file, gzipped or not.
class TextFile {
 public:
  explicit TextFile(const std::string& path) : file_(path) {
    if (!path.ends_with(".json")) gzip_.emplace(file_);
  }
  void write(std::string_view text) {
    if (gzip_) return gzip_->write(text);
    file_.write(text);
  }
  void commit() {
    if (gzip_) gzip_->finish();
    file_.commit();
  }

 private:
  OutputFile file_;
  std::optional<GzipWriter> gzip_;
};

// "100", or "100.1" when it is used for the second time.
class Ids {
 public:
  std::string next(int32_t id) {
    const int use = uses_[id]++;
    return use == 0 ? std::to_string(id) : fmt::format("{}.{}", id, use);
  }

 private:
  std::map<int32_t, int> uses_;
};

class FirefoxWriter {
 public:
  FirefoxWriter(const profile::View& view, TextFile& file)
      : view_(view),
        profile_(*view.profile),
        file_(file),
        windows_(view),
        categories_(profile_),
        tables_(view, categories_) {
    Ids ids;
    for (const Process& process : profile_.processes) pids_.push_back(ids.next(process.pid));
  }

  Outcome write(uint64_t max_size) {
    const uint64_t limit = max_size == 0 ? UINT64_MAX : max_size;
    markers_.emplace(view_, limit / kMarkersPart, pids_, &tables_);
    Outcome outcome;
    outcome.notes = windows_.fit(max_size, [&] { return size(); });
    outcome.notes.insert(outcome.notes.end(), markers_->notes().begin(), markers_->notes().end());
    file_.write("{\"meta\":" + meta() + ",\n\"libs\":" + tables_.libs_json() +
                ",\n\"pages\":[],\"counters\":" + markers_->counters_json() + ",\n\"threads\":[");
    Ids ids;
    for (size_t position = 0; position < view_.threads.size(); ++position) {
      const Thread& thread = profile_.threads[view_.threads[position]];
      file_.write(position == 0 ? "\n" : ",\n");
      write_thread(position, ids.next(thread.tid));
    }
    file_.write("],\n\"shared\":" + tables_.json() + "}\n");
    return outcome;
  }

 private:
  uint64_t size() {
    constexpr uint64_t kPerThread = 600, kCommasAndPoints = 8;
    uint64_t sum = tables_.size() + markers_->size();
    for (size_t position = 0; position < view_.threads.size(); ++position) {
      sum += kPerThread;
      for (const WindowSample& sample : windows_.samples(position)) {
        sum += fmt::format_int(tables_.stack(sample.stack)).size() + kCommasAndPoints +
               fmt::format_int(sample.time_ns).size() +
               2 * fmt::format_int(sample.weight_ns).size();
      }
    }
    return sum;
  }

  std::string meta() {
    const profile::Session& session = profile_.session;
    const uint64_t rate = session.rate_hz != 0 ? session.rate_hz : kUsualRate;
    std::string command;
    for (const std::string& word : session.command) command += (command.empty() ? "" : " ") + word;
    const uint64_t period_ns = kNsPerSecond / rate;
    const SessionNs last_ns =
        view_.samples.empty() ? SessionNs() : profile_.samples[view_.samples.back()].time_ns;
    const SessionNs end_ns = std::max(profile_.duration_ns(), last_ns + period_ns);
    std::vector<size_t> visible = windows_.busiest_first();
    if (visible.size() > kVisibleThreads) visible.resize(kVisibleThreads);
    return fmt::format(
        R"({{"version":{},"preprocessedProfileVersion":{},"product":{},"arguments":{},)"
        R"("importedFrom":"sampan","interval":{},"startTime":{},"profilingStartTime":0,)"
        R"("profilingEndTime":{},"processType":0,"stackwalk":1,"platform":"Linux","oscpu":{},)"
        R"("symbolicated":true,"usesOnlyOneStackType":{},"sourceCodeIsNotOnSearchfox":true,)"
        R"("keepProfileThreadOrder":true,"markerSchema":{},)"
        R"("sampleUnits":{{"time":"ms","eventDelay":"ms","threadCPUDelta":"ns"}},)"
        R"("initialVisibleThreads":[{}],"initialSelectedThreads":[{}],"categories":{}}})",
        kGeckoVersion, kVersion, json_string(session.program), json_string(command),
        milliseconds(period_ns), milliseconds(session.start_unix_ns), milliseconds(end_ns),
        json_string("Linux " + session.kernel), !tables_.has_python(),
        FirefoxMarkers::schema_json(), fmt::join(visible, ","),
        fmt::join(visible.begin(), visible.begin() + !visible.empty(), ","), categories_.json());
  }

  void write_thread(size_t position, const std::string& tid) {
    const Thread& thread = profile_.threads[view_.threads[position]];
    const std::vector<WindowSample>& samples = windows_.samples(position);
    const Process& process = profile_.processes[thread.process];
    file_.write(fmt::format(
        R"({{"name":{},"isMainThread":{},"processType":"default","processName":{},"pid":"{}",)"
        R"("tid":"{}","processStartupTime":{},"processShutdownTime":{},"registerTime":{},)"
        R"("unregisterTime":{},"pausedRanges":[{}],)"
        R"("showMarkersInTimeline":true,"markers":{},
"samples":{{"length":{},"weightType":"{}")",
        json_string(thread.name), thread.is_main, json_string(process.name), pids_[thread.process],
        tid, milliseconds(process.start_ns), milliseconds_or_null(process.end_ns),
        milliseconds(thread.start_ns), milliseconds_or_null(thread.end_ns),
        paused_ranges(thread.process), markers_->table_json(position),
        samples.empty() ? 0 : samples.size() + 1, weight_type()));
    write_column("stack", "null", samples, [&](const WindowSample& sample) {
      return std::to_string(tables_.stack(sample.stack));
    });
    const SessionNs begin_ns =
        samples.empty() ? SessionNs() : samples[0].time_ns.earlier(samples[0].weight_ns);
    write_column("time", milliseconds(begin_ns), samples,
                 [](const WindowSample& sample) { return milliseconds(sample.time_ns); });
    write_column("weight", "0", samples,
                 [&](const WindowSample& sample) { return weight(sample.weight_ns); });
    if (profile_.session.unit.empty()) {
      write_column("threadCPUDelta", "0", samples, [](const WindowSample& sample) {
        return std::to_string(sample.waiting ? 0 : sample.weight_ns);
      });
    }
    file_.write("}}");
  }

  std::string_view weight_type() const {
    const std::string& unit = profile_.session.unit;
    return unit.empty() ? "tracing-ms" : unit == "bytes" ? "bytes" : "samples";
  }

  std::string weight(uint64_t weight) const {
    if (profile_.session.unit.empty()) return milliseconds(weight);
    return std::to_string(profile::whole_units(profile_.session, weight));
  }

  std::string paused_ranges(uint32_t process) const {
    std::string text;
    for (const profile::Pause& pause : profile_.markers.pauses) {
      if (pause.process != process) continue;
      if (!text.empty()) text += ',';
      text += fmt::format(R"({{"startTime":{},"endTime":{},"reason":"profiler-paused"}})",
                          milliseconds(pause.begin_ns), milliseconds(pause.end_ns));
    }
    return text;
  }

  // `first`: the row of the empty sample.
  template <typename Text>
  void write_column(std::string_view name, std::string_view first,
                    const std::vector<WindowSample>& samples, const Text& text) {
    column_ = fmt::format(",\n\"{}\":[", name);
    if (!samples.empty()) column_ += first;
    for (const WindowSample& sample : samples) {
      column_ += ',';
      column_ += text(sample);
    }
    column_ += ']';
    file_.write(column_);
  }

  const profile::View& view_;
  const profile::Profile& profile_;
  TextFile& file_;
  SampleWindows windows_;
  FirefoxCategories categories_;
  FirefoxTables tables_;
  std::vector<std::string> pids_;  // by process
  std::optional<FirefoxMarkers> markers_;
  std::string column_;  // scratch
};

}  // namespace

Outcome write_firefox(const profile::View& view, const std::string& path, uint64_t max_size) {
  TextFile file(path);
  Outcome outcome = FirefoxWriter(view, file).write(max_size);
  file.commit();
  return outcome;
}

}  // namespace sampan::exporters
