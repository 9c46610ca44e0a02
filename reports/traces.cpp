#include "reports/traces.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text/json_writer.h"
#include "base/text/readable.h"
#include "base/time.h"
#include "profile/trace_ids.h"
#include "reports/table.h"

namespace sampan::reports {
namespace {

using profile::Trace;
using profile::TraceSpan;

constexpr size_t kMostIndents = 10;
constexpr size_t kHottest = 3;

std::string host_of(const profile::Profile& profile, uint32_t process) {
  const uint32_t origin = profile.processes[process].origin;
  return origin == profile::kNone ? profile.session.host : profile.origins[origin].host;
}

std::string time_text(const profile::Weight& weight) {
  return weight.samples == 0 ? "-" : seconds(weight.ns);
}

class TracesPage {
 public:
  TracesPage(const profile::View& view, const std::vector<Trace>& traces,
             const PageOptions& options)
      : profile_(*view.profile), traces_(traces), options_(options), style_(options.colour) {}

  std::string text() {
    std::string text = style_.heading(fmt::format("{}, most time first (seconds)",
                                                  plural(traces_.size(), "trace"))) +
                       "\n";
    if (traces_.empty()) {
      text += "  none: no sample has a trace id (docs/markers.md)\n";
    }
    const size_t shown =
        options_.top == 0 ? traces_.size() : std::min<size_t>(options_.top, traces_.size());
    for (size_t i = 0; i < shown; ++i) text += (i == 0 ? "" : "\n") + trace_text(traces_[i]);
    if (shown < traces_.size()) {
      text += "  " + style_.faint("and " + plural(traces_.size() - shown, "more trace")) + "\n";
    }
    for (const std::string& note : options_.notes) {
      for (const std::string& line : wrap("note: " + printable(note), options_.text_width() - 2)) {
        text += "  " + style_.warning(line) + "\n";
      }
    }
    return text;
  }

 private:
  std::string trace_text(const Trace& trace) const {
    Table table({{.title = "begin"},
                 {.title = "lasted"},
                 {.title = "CPU"},
                 {.title = "waiting"},
                 {.title = "queued"},
                 {.title = "samples"},
                 {.title = "span", .left = true, .minimum = 12},
                 {.title = "process", .left = true, .minimum = 8},
                 {.title = "host", .left = true, .minimum = 6},
                 {.title = "mostly in", .left = true, .minimum = 16}});
    for (const TraceSpan& span : trace.spans) {
      table.add({seconds(span.begin_ns - trace.begin_ns), seconds(span.end_ns - span.begin_ns),
                 time_text(span.cpu), time_text(span.waiting), time_text(span.runnable),
                 count(span.cpu.samples + span.waiting.samples + span.runnable.samples),
                 name_of(span),
                 printable(fmt::format("{} ({})", profile_.processes[span.process].name,
                                       profile_.processes[span.process].pid)),
                 printable(host_of(profile_, span.process)), hottest(span)});
    }
    return "  " +
           style_.strong(fmt::format("{}: {} s CPU in {}", profile::hex_text(trace.trace_id),
                                     seconds(trace.cpu.ns), plural_processes(trace.processes))) +
           "\n" + table.text(options_.width, style_);
  }

  static std::string plural_processes(uint32_t processes) {
    return processes == 1 ? "1 process" : fmt::format("{} processes", processes);
  }

  std::string name_of(const TraceSpan& span) const {
    std::string text(2 * std::min<size_t>(span.depth, kMostIndents), ' ');
    const std::string id = profile::span_text(span.span_id);
    text += id.empty() ? "(no span id)" : id;
    if (span.name != profile::kNone) text += " " + profile_.markers.texts[span.name];
    return printable(text);
  }

  // Functions, then the longest wait.
  std::string hottest(const TraceSpan& span) const {
    std::string text;
    for (size_t i = 0; i < std::min(kHottest, span.functions.size()); ++i) {
      text += (i == 0 ? "" : ", ") + function_cell(profile_, span.functions[i].first, options_);
    }
    if (!span.waits.empty()) {
      text += (text.empty() ? "" : ", ") +
              printable(profile::wait_name(profile_.waits[span.waits.front().first]));
    }
    return text;
  }

  const profile::Profile& profile_;
  const std::vector<Trace>& traces_;
  const PageOptions& options_;
  Style style_;
};

void write_span(Json& json, const profile::Profile& profile, const TraceSpan& span) {
  const profile::Process& process = profile.processes[span.process];
  const std::string id = profile::span_text(span.span_id);
  json.member("span_id", id.empty() ? std::optional<std::string>() : id);
  json.key("parent");
  span.parent == profile::kNone ? json.null() : json.value(span.parent);
  json.member("depth", span.depth);
  json.member("name", span.name == profile::kNone
                          ? std::optional<std::string>()
                          : std::optional(profile.markers.texts[span.name]));
  json.member("process", process.name);
  json.member("pid", process.pid);
  json.member("host", host_of(profile, span.process));
  json.member("begin_s", in_seconds(span.begin_ns));
  json.member("end_s", in_seconds(span.end_ns));
  json.member("cpu_s", in_seconds(span.cpu.ns));
  json.member("waiting_s", in_seconds(span.waiting.ns));
  json.member("runnable_s", in_seconds(span.runnable.ns));
  json.member("samples", span.cpu.samples + span.waiting.samples + span.runnable.samples);
  json.objects("functions", span.functions, [&](const auto& row) {
    json.member("name", function_name(profile, row.first));
    json.member("self_s", in_seconds(row.second));
  });
  json.objects("waits", span.waits, [&](const auto& row) {
    json.member("name", profile::wait_name(profile.waits[row.first]));
    json.member("waiting_s", in_seconds(row.second));
  });
}

}  // namespace

std::string traces_page(const profile::View& view, const std::vector<Trace>& traces,
                        const PageOptions& options) {
  return TracesPage(view, traces, options).text();
}

std::string traces_json(const profile::View& view, const std::vector<Trace>& traces,
                        const std::vector<std::string>& notes) {
  const profile::Profile& profile = *view.profile;
  Json json;
  json.object([&] {
    json.member("notes", notes);
    json.objects("traces", traces, [&](const Trace& trace) {
      json.member("trace_id", profile::hex_text(trace.trace_id));
      json.member("begin_s", in_seconds(trace.begin_ns));
      json.member("end_s", in_seconds(trace.end_ns));
      json.member("cpu_s", in_seconds(trace.cpu.ns));
      json.member("waiting_s", in_seconds(trace.waiting.ns));
      json.member("runnable_s", in_seconds(trace.runnable.ns));
      json.member("processes", trace.processes);
      json.objects("spans", trace.spans,
                   [&](const TraceSpan& span) { write_span(json, profile, span); });
    });
  });
  return json.text();
}

}  // namespace sampan::reports
