// The first lines of the page.
#include <fmt/chrono.h>
#include <fmt/core.h>

#include <algorithm>
#include <ctime>

#include "base/text/readable.h"
#include "profile/profile.h"
#include "profile/python_notes.h"
#include "profile/rates.h"
#include "profile/sections.h"
#include "reports/sections.h"
#include "wire/deep_stack.h"
#include "wire/loss.h"

namespace sampan::reports {
namespace {

// Achieved rates that differ less from the requested rate need no explanation: the weights of few
// samples vary as much.
constexpr double kRateTolerance = 0.05;
// Below this share, a report may be misleading, so it is emphasized.
constexpr double kLowShare = 0.9;

std::string start_time(UnixNs unix_ns) {
  const auto seconds = static_cast<std::time_t>(unix_ns / 1'000'000'000);
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::localtime(seconds));
}

std::string command_line(const profile::Session& session) {
  std::string text;
  for (const std::string& word : session.command) text += (text.empty() ? "" : " ") + word;
  return printable(text.empty() ? session.program : text);
}

// As much of the command as fits beside the time, which ends at the right edge.
std::string title(const Context& context) {
  const profile::Session& session = context.profile().session;
  const bool is_known = session.start_unix_ns != 0;  // many files that are imported do not say it
  const std::string time = is_known ? start_time(session.start_unix_ns) : "";
  constexpr size_t kGap = 2;
  const std::string command =
      cut_end(command_line(session), context.options.width - columns(time) - kGap);
  const size_t used = columns(command) + columns(time), width = context.options.text_width();
  const std::string gap(std::max(width, used + kGap) - used, ' ');
  return context.style.heading(command) + gap + context.style.faint(time) + "\n";
}

// The process that was attached to is still there.
bool detached(const profile::Profile& profile) {
  return !profile.processes.empty() && profile.processes.front().lives_on;
}

std::string outcome(const Context& context) {
  const profile::Profile& profile = context.profile();
  std::string text;
  // Many files that are imported have no times.
  if (profile.duration_ns() != 0 || !profile.session.is_imported()) {
    text += seconds(profile.duration_ns()) + " s wall, ";
  }
  if (context.summary.cpu_ns) text += seconds(*context.summary.cpu_ns) + " s CPU, ";
  if (profile.end && profile.end->instructions && context.summary.whole()) {
    const auto count = static_cast<double>(*profile.end->instructions);
    text += count < 1e9 ? fmt::format("{:.3g} M instructions, ", count / 1e6)
                        : fmt::format("{:.3g} G instructions, ", count / 1e9);
  }
  text += plural(context.summary.processes.size(), "process") + ", " +
          plural(context.summary.threads.size(), "thread");
  if (profile.end) {
    const std::string how = ended(profile.end->exit_status, profile.end->exit_signal);
    if (!how.empty()) text += ", " + how;
    if (detached(profile)) text += ", detached";
  }
  return item(context, "ran", text);
}

// How long sampling was off, and the whole time.
std::string pauses(const Context& context) {
  const profile::Profile& profile = context.profile();
  if (profile.markers.pauses.empty()) return "";
  uint64_t paused_ns = 0, lived_ns = 0;
  for (const profile::Pause& pause : profile.markers.pauses) {
    paused_ns += pause.end_ns - pause.begin_ns;
  }
  for (const profile::Process& process : profile.processes) {
    const SessionNs end_ns = process.end_ns.value_or(profile.duration_ns());
    lived_ns += end_ns.since(process.start_ns);
  }
  std::string text = fmt::format("{} s of {} s", seconds(paused_ns), seconds(lived_ns));
  if (profile.processes.size() > 1)
    text += fmt::format(" of {} processes", profile.processes.size());
  return item(context, "paused", text + ": without samples, and not counted");
}

// The merged recordings, or the first of many.
std::string origins(const Context& context) {
  constexpr size_t kNamed = 4;
  const std::vector<profile::Origin>& all = context.profile().origins;
  if (all.empty()) return "";
  std::string text = plural(all.size(), "recording");
  for (size_t i = 0; i < std::min(all.size(), kNamed); ++i) {
    text += fmt::format("{} {} ({}, {})", i == 0 ? ":" : ",", all[i].label, all[i].host,
                        start_time(all[i].start_unix_ns));
  }
  return item(context, "merged", printable(text + (all.size() > kNamed ? ", …" : "")));
}

std::string labels(const Context& context) {
  std::string text;
  for (const auto& [name, value] : context.profile().session.labels) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, value);
  }
  return text.empty() ? "" : item(context, "labels", printable(text));
}

// Engines outside the target. The shim is the default and is not mentioned.
std::string engine(const Context& context) {
  const std::string& name = context.profile().session.engine;
  return name == "preload" ? "" : item(context, "engine", name);
}

std::string why_slower(const Context& context) {
  const profile::Profile& profile = context.profile();
  const auto refused = profile.losses[static_cast<size_t>(wire::Loss::kPerfRefused)];
  const std::string tick_hz = fmt::format("{} Hz", profile.session.kernel_hz);
  if (refused != 0) {
    const bool only_timers =
        profile.end && profile.end->sampling_clocks == profile::SessionEnd::kTimerClock;
    return (only_timers ? "only CPU timers send signals here, and the kernel's tick is "
                        : "perf_event is refused here, and the kernel's tick is ") +
           tick_hz;
  }
  if (profile.losses[static_cast<size_t>(wire::Loss::kRingFull)] != 0) return "samples were lost";
  if (profile.session.rate_hz > profile.session.kernel_hz) {
    if (profile.session.kernel_hz == 0) return "";
    return profile.session.engine == "preload"
               ? "code in the kernel is sampled at its tick, " + tick_hz
               : "the kernel's tick is " + tick_hz;
  }
  return "its threads run in bursts shorter than a tick, so one sample covers several bursts";
}

std::string rate(const Context& context) {
  const uint32_t held = profile::rate_range(context.profile()).lowest_hz;
  if (held == 0) return "";
  std::string text = profile::rate_text(context.profile());
  if (context.summary.sampled.samples != 0 && context.unit().is_time()) {
    const double achieved = context.summary.achieved_rate_hz();
    text += fmt::format(", {:.0f} Hz achieved", achieved);
    // Each thread ends before its next sample is due.
    const double taken =
        static_cast<double>(context.summary.sampled.samples + context.summary.threads.size());
    const double due = held / achieved * static_cast<double>(context.summary.sampled.samples);
    const std::string why =
        !context.profile().session.is_imported() && taken < due * (1 - kRateTolerance)
            ? why_slower(context)
            : "";
    if (!why.empty()) text += ": " + why;
  }
  return item(context, "rate", text);
}

std::string cost(const Context& context) {
  const std::string text = profile::cost_text(context.profile());
  return text.empty() ? "" : item(context, "cost", text);
}

std::string samples(const Context& context) {
  const profile::Summary& summary = context.summary;
  const uint64_t all = summary.total().samples;
  if (all == 0) return item(context, "samples", "none");
  std::string text = count(all) + ", carrying ";
  if (summary.waiting.samples + summary.runnable.samples > 0) {
    text += seconds(summary.waiting.ns) + " s of waiting";
    if (!context.profile().session.is_imported()) {
      text += ", " + seconds(summary.runnable.ns) + " s in the queue for a CPU";
    }
    if (summary.sampled.samples == 0) return item(context, "samples", text);
    text += " and ";
  }
  const profile::Unit unit = context.unit();
  text += unit.amount(summary.sampled.ns) + (unit.is_time() ? " of CPU" : "");
  const auto coverage = summary.coverage();
  if (!coverage) return item(context, "samples", text);
  text += fmt::format("; coverage {} %", percent(*coverage, 1));
  if (summary.sampled.ns < *summary.cpu_ns) {
    text += fmt::format(", {} s unsampled", seconds(*summary.cpu_ns - summary.sampled.ns));
  }
  return item(context, "samples", text, *coverage < kLowShare ? Tone::kWarning : Tone::kPlain);
}

// Stacks that were deeper than what is recorded of one.
uint64_t stacks_with_frames_left_out(const profile::View& view) {
  const profile::Profile& profile = *view.profile;
  std::vector<bool> has_mark(profile.stacks.size());
  for (size_t i = 0; i < has_mark.size(); ++i) {
    const profile::Stack& stack = profile.stacks[i];
    const profile::Location& location = profile.locations[stack.location];
    has_mark[i] = (stack.prefix != profile::kNone && has_mark[stack.prefix]) ||
                  (location.module == profile::kNone && location.address == wire::kFramesLeftOut);
  }
  return static_cast<uint64_t>(std::ranges::count_if(view.samples, [&](uint32_t sample) {
    const uint32_t stack = profile.samples[sample].stack;
    return stack != profile::kNone && has_mark[stack];
  }));
}

std::string stacks(const Context& context) {
  const auto complete = context.summary.complete_share();
  if (!complete) return "";
  std::string text = fmt::format("{} % complete", percent(*complete, 1));
  if (const uint64_t left_out = stacks_with_frames_left_out(context.view)) {
    text += fmt::format(", {} so deep that the frames in the middle are left out", count(left_out));
  }
  if (context.summary.whole()) {  // the reasons are counted over the whole profile
    std::string reasons;
    for (size_t i = 1; i < context.profile().stops.size(); ++i) {
      const uint64_t n = context.profile().stops[i];
      if (n == 0) continue;
      reasons += reasons.empty() ? "; the others: " : ", ";
      reasons += count(n) + " " + stop_reason_text(static_cast<wire::StopReason>(i));
    }
    text += reasons;
  }
  return item(context, "stacks", text, *complete < kLowShare ? Tone::kWarning : Tone::kPlain);
}

std::string losses(const Context& context) {
  std::string text;
  for (const profile::Lost& lost : profile::losses(context.profile())) {
    const std::string line = count(lost.count) + " " + lost.text;
    text += item(context, text.empty() ? "lost" : "", line, Tone::kWarning);
  }
  return text.empty() ? item(context, "lost", "nothing") : text;
}

std::string selection(const Context& context) {
  const bool in_section = context.view.section != nullptr;
  if (context.summary.whole() && !in_section) return "";
  std::string text;
  if (!context.summary.all_threads) {
    text = fmt::format("{} of {}", count(context.summary.threads.size()),
                       plural(context.profile().threads.size(), "thread"));
  }
  if (in_section) {
    text += fmt::format("{}inside the section {}", text.empty() ? "" : ", ",
                        printable(context.view.section->name()));
    return item(context, "shown", text);
  }
  if (!context.summary.all_time) text += text.empty() ? "a part of the time" : ", part of the time";
  return item(context, "shown", text);
}

std::string notes(const Context& context) {
  const profile::Profile& profile = context.profile();
  std::vector<std::string> all = profile::notes_of_end(profile);
  for (const std::string& note : profile::python_notes(profile)) all.push_back(note);
  for (const std::string& damage : profile.damage) all.push_back("damaged recording: " + damage);
  for (const std::string& note : context.options.notes) all.push_back(note);
  std::string text;
  for (const std::string& note : all) {
    text += item(context, "note", printable(note), Tone::kWarning);
  }
  return text;
}

// What is known of the samples, or of what is shown in their place.
std::string figures(const Context& context) {
  switch (context.profile().shown) {
    case profile::Shown::kHeap: return heap_figures(context);
    case profile::Shown::kLocks: return lock_figures(context);
    case profile::Shown::kSamples: break;
  }
  return rate(context) + cost(context) + samples(context);
}

}  // namespace

std::string item(const Context& context, std::string_view name, std::string_view text, Tone tone) {
  constexpr size_t kIndent = 12;
  std::string result;
  for (const std::string& line : wrap(text, context.options.text_width() - kIndent)) {
    result += fmt::format("  {:<9} {}\n", result.empty() ? name : "",
                          tone == Tone::kWarning ? context.style.warning(line) : line);
  }
  return result;
}

std::string heading(const Context& context) {
  std::string text = title(context);
  for (const auto part :
       {outcome, origins, labels, engine, pauses, selection, figures, stacks, losses, notes}) {
    text += part(context);
  }
  return text;
}

}  // namespace sampan::reports
