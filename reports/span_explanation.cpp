#include <fmt/core.h>

#include <algorithm>

#include "base/text/json_writer.h"
#include "base/text/readable.h"
#include "base/time.h"
#include "profile/frames.h"
#include "profile/markers.h"
#include "reports/spans.h"
#include "reports/table.h"

namespace sampan::reports {
namespace {

using profile::SpanCause;
using profile::SpanExplanation;
using profile::SpanMeans;

// A remark is made if at least this part of the extra time of slow spans is off the CPU.
constexpr double kMuch = 0.5;

std::string means_table(const profile::Profile& profile, const SpanExplanation& explanation,
                        const PageOptions& options, const Style& style) {
  const bool waits = profile.has_waits();
  std::vector<Column> columns = {
      {.title = "per span", .left = true}, {.title = "wall"}, {.title = "on CPU"}};
  if (waits) {
    columns.push_back({.title = "waiting"});
    columns.push_back({.title = "for a CPU"});
  }
  columns.push_back({.title = waits ? "not sampled" : "off CPU"});
  columns.push_back({.title = "spans"});
  columns.push_back({.title = "samples"});
  Table table(std::move(columns));
  const auto add = [&](const char* name, const SpanMeans& means) {
    std::vector<std::string> cells = {name, duration(means.wall_ns), duration(means.cpu_ns)};
    if (waits) {
      cells.push_back(duration(means.waiting_ns));
      cells.push_back(duration(means.runnable_ns));
    }
    cells.push_back(duration(std::max(means.unsampled_ns(), 0.)));
    cells.push_back(count(means.spans));
    cells.push_back(count(means.samples));
    table.add(std::move(cells));
  };
  add("slow", explanation.slow);
  add("others", explanation.others);
  return table.text(options.width, style);
}

std::string chance_text(double p) {
  return p < 0.0001 ? "< 0.0001" : fmt::format("{:.4f}", p);
}

std::string causes_table(const profile::Profile& profile, const SpanExplanation& explanation,
                         const PageOptions& options, const Style& style) {
  Table table({{.title = "slow"},
               {.title = "others"},
               {.title = "in slow"},
               {.title = "p"},
               function_column(options, "function or [wait]"),
               {.title = "module", .left = true, .minimum = 8}});
  const size_t shown = options.top == 0 ? explanation.causes.size()
                                        : std::min<size_t>(options.top, explanation.causes.size());
  for (size_t i = 0; i < shown; ++i) {
    const SpanCause& cause = explanation.causes[i];
    table.add({duration(cause.slow_ns), duration(cause.other_ns),
               fmt::format("{}/{}", count(cause.slow_spans), count(explanation.slow.spans)),
               chance_text(cause.p), function_cell(profile, cause.function, options),
               function_module_cell(profile, cause.function)});
  }
  std::string text = table.text(options.width, style);
  if (shown < explanation.causes.size()) {
    text += "  and " + count(explanation.causes.size() - shown) + " more\n";
  }
  return text;
}

// Remarks beside the tables.
std::vector<std::string> sentences(const profile::Profile& profile,
                                   const SpanExplanation& explanation) {
  std::vector<std::string> result;
  const double longer_ns = explanation.slow.wall_ns - explanation.others.wall_ns;
  const double queue_ns = explanation.slow.runnable_ns - explanation.others.runnable_ns;
  const double off_ns = explanation.slow.unsampled_ns() - explanation.others.unsampled_ns();
  if (!explanation.too_few.empty()) result.push_back(explanation.too_few);
  if (queue_ns > kMuch * longer_ns) {
    result.push_back(
        fmt::format("they take {} longer than the others; for {} of it they waited for a CPU: the "
                    "machine was busy",
                    duration(longer_ns), duration(std::min(queue_ns, longer_ns))));
  }
  if (explanation.across) {
    result.push_back(fmt::format(
        "they take {} longer than the others; the samples of the spans inside them explain "
        "{} of it: these spans go across threads, and in the rest no thread worked on them",
        duration(longer_ns), duration(std::clamp(longer_ns - off_ns, 0., longer_ns))));
  } else if (!profile.has_waits() && off_ns > kMuch * longer_ns) {
    result.push_back(fmt::format(
        "they take {} longer than the others; for {} of it they were off the CPU: record with "
        "--clock wall to see what they wait for",
        duration(longer_ns), duration(std::min(off_ns, longer_ns))));
  }
  const std::vector<std::string> losses = profile::marker_losses(profile);
  result.insert(result.end(), losses.begin(), losses.end());
  return result;
}

void write_means(Json& json, const char* key, const SpanMeans& means) {
  json.key(key);
  json.object([&] {
    json.member("spans", means.spans);
    json.member("samples", means.samples);
    json.member("wall_s", in_seconds(means.wall_ns));
    json.member("cpu_s", in_seconds(means.cpu_ns));
    json.member("waiting_s", in_seconds(means.waiting_ns));
    json.member("runnable_s", in_seconds(means.runnable_ns));
  });
}

}  // namespace

std::string explanation_page(const profile::View& view, const SpanExplanation& explanation,
                             const PageOptions& options) {
  const profile::Profile& profile = *view.profile;
  const Style style(options.colour);
  const uint64_t spans = explanation.slow.spans + explanation.others.spans;
  std::string text =
      style.heading(fmt::format("The slowest {} of {} '{}', which took {} and more",
                                count(explanation.slow.spans), plural(spans, "span"),
                                printable(profile.markers.texts[explanation.name]),
                                duration(static_cast<double>(explanation.slow_from_ns)))) +
      "\n";
  text += means_table(profile, explanation, options, style);
  std::vector<std::string> lines = sentences(profile, explanation);
  if (explanation.too_few.empty()) {
    text +=
        "\n" +
        style.heading(fmt::format("What they spend more of their time on, per span; {:g} % sure "
                                  "of all together",
                                  100 * explanation.options.confidence)) +
        "\n";
    text += explanation.causes.empty()
                ? "  nothing: what they do, they do in the same proportions as the others\n"
                : causes_table(profile, explanation, options, style);
    lines.push_back(fmt::format("{} compared", plural(explanation.functions, "function")));
  }
  for (const std::string& note : options.notes) lines.push_back("note: " + printable(note));
  for (const std::string& sentence : lines) {
    for (const std::string& line : wrap(sentence, options.text_width() - 2)) {
      text += "  " + style.faint(line) + "\n";
    }
  }
  return text;
}

std::string explanation_json(const profile::View& view, const SpanExplanation& explanation,
                             const std::vector<std::string>& notes) {
  const profile::Profile& profile = *view.profile;
  Json json;
  json.object([&] {
    json.member("name", profile.markers.texts[explanation.name]);
    json.member("confidence", explanation.options.confidence);
    json.member("slow_from_s", in_seconds(explanation.slow_from_ns));
    write_means(json, "slow", explanation.slow);
    write_means(json, "others", explanation.others);
    std::vector<std::string> all = sentences(profile, explanation);
    all.insert(all.end(), notes.begin(), notes.end());
    json.member("notes", all);
    json.member("enough", explanation.too_few.empty());
    json.member("functions", static_cast<uint64_t>(explanation.functions));
    json.objects("causes", explanation.causes, [&](const SpanCause& cause) {
      json.member("function", function_name(profile, cause.function));
      json.member("module", function_module_path(profile, cause.function));
      json.member("wait", cause.is_wait);
      json.member("slow_s", in_seconds(cause.slow_ns));
      json.member("others_s", in_seconds(cause.other_ns));
      json.member("in_slow", cause.slow_spans);
      json.member("p", cause.p);
    });
  });
  return json.text();
}

}  // namespace sampan::reports
