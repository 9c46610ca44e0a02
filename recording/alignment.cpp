#include "recording/alignment.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"

namespace sampan::recording {
namespace {

using MarkTimes = std::map<std::pair<std::string_view, uint32_t>, int64_t>;

Align usual_alignment(std::span<const Timing> inputs) {
  UnixNs last_start_ns = 0, first_end_ns = UINT64_MAX;
  for (const Timing& input : inputs) {
    last_start_ns = std::max(last_start_ns, input.start_ns);
    first_end_ns = std::min(first_end_ns, input.end_ns);
  }
  return last_start_ns < first_end_ns ? Align::kClock : Align::kStart;
}

MarkTimes times_of(const Timing& input) {
  MarkTimes times;
  for (const Mark& mark : input.marks) {
    times[{mark.text, mark.number}] = static_cast<int64_t>(uint64_t{mark.time_ns});
  }
  return times;
}

// How far the marks of an input are from the same ones of another.
std::vector<int64_t> distances(const Timing& input, const MarkTimes& from) {
  std::vector<int64_t> result;
  for (const auto& [key, time] : times_of(input)) {
    const auto found = from.find(key);
    if (found != from.end()) result.push_back(time - found->second);
  }
  std::ranges::sort(result);
  return result;
}

// By input, how much its clock is ahead.
std::vector<int64_t> clocks_ahead(std::span<const Timing> inputs, Alignment* alignment) {
  const auto first =
      std::ranges::find_if(inputs, [](const Timing& input) { return !input.marks.empty(); });
  const MarkTimes reference = first == inputs.end() ? MarkTimes() : times_of(*first);
  std::vector<int64_t> ahead;
  int64_t earliest = 0, latest = 0;
  for (const Timing& input : inputs) {
    const std::vector<int64_t> apart = distances(input, reference);
    ahead.push_back(apart.empty() ? 0 : apart[apart.size() / 2]);
    if (apart.empty()) {
      ++alignment->without_marks;
      continue;
    }
    if (&input != &*first) alignment->marks += apart.size();
    earliest = std::min(earliest, apart.front() - ahead.back());
    latest = std::max(latest, apart.back() - ahead.back());
  }
  alignment->apart_ns = static_cast<uint64_t>(latest - earliest);
  if (alignment->marks == 0)
    throw Error("no two of the recordings have a marker of that name in common");
  return ahead;
}

// The errors of two hosts add up.
std::optional<uint64_t> error_of_clocks(std::span<const Timing> inputs) {
  std::map<std::string_view, uint64_t> by_host;
  for (const Timing& input : inputs) {
    if (!input.clock_error_ns) return {};
    uint64_t& error = by_host[input.host];
    error = std::max(error, *input.clock_error_ns);
  }
  uint64_t most = 0, second = 0;
  for (const auto& [host, error] : by_host) {
    second = std::max(second, std::min(most, error));
    most = std::max(most, error);
  }
  return most + second;
}

std::string milliseconds(uint64_t ns) {
  return fmt::format("{:.3g} ms", static_cast<double>(ns) / 1e6);
}

}  // namespace

std::vector<Mark> marks_of(const Recording& recording, const std::string& name) {
  const Markers& markers = recording.markers;
  std::vector<std::pair<std::string_view, SessionNs>> moments;
  for (const vocabulary::Span& span : markers.spans) {
    if (markers.texts[span.name] != name || span.closed != Closed::kByProgram) continue;
    moments.emplace_back(markers.texts[span.text], span.end_ns);
  }
  for (const vocabulary::Event& event : markers.events) {
    if (markers.texts[event.name] == name)
      moments.emplace_back(markers.texts[event.text], event.time_ns);
  }
  std::ranges::sort(moments);
  std::vector<Mark> marks;
  for (const auto& [text, time_ns] : moments) {
    const bool again = !marks.empty() && marks.back().text == text;
    marks.push_back({std::string(text), again ? marks.back().number + 1 : 0,
                     recording.session.unix_time(time_ns)});
  }
  return marks;
}

Alignment align(std::span<const Timing> inputs, std::optional<Align> how) {
  Alignment result;
  result.how = how.value_or(usual_alignment(inputs));
  std::set<std::string_view> hosts;
  for (const Timing& input : inputs) hosts.insert(input.host);
  result.hosts = hosts.size();
  if (result.how == Align::kClock) result.clock_error_ns = error_of_clocks(inputs);
  std::vector<int64_t> ahead(inputs.size(), 0);
  if (result.how == Align::kMarks) ahead = clocks_ahead(inputs, &result);

  std::vector<UnixNs> starts;
  for (size_t i = 0; i < inputs.size(); ++i) starts.push_back(inputs[i].start_ns - ahead[i]);
  result.start_ns = *std::ranges::min_element(starts);
  for (const UnixNs start : starts) {
    result.later_ns.push_back(result.how == Align::kStart ? 0 : start - result.start_ns);
  }
  return result;
}

std::string words(const Alignment& alignment) {
  switch (alignment.how) {
    case Align::kStart: return "as if all had begun together";
    case Align::kClock:
      if (alignment.hosts == 1) return "at the times of their host's clock";
      return fmt::format("at the times of the clocks of {} hosts, {}", alignment.hosts,
                         alignment.clock_error_ns
                             ? "which were right to " + milliseconds(*alignment.clock_error_ns)
                             : "of which at least one is not kept by a time service: --align "
                               "marker:NAME measures how "
                               "far they differ");
    case Align::kMarks:
      return fmt::format(
          "by {} markers in common, which are then at most {} apart{}", alignment.marks,
          milliseconds(alignment.apart_ns),
          alignment.without_marks == 0
              ? ""
              : fmt::format(
                    "; {} of them have none of these markers, and are at the times of their "
                    "clocks",
                    alignment.without_marks));
  }
  return "";
}

}  // namespace sampan::recording
