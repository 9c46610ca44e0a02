#include "support/text_profile.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <vector>

#include "base/error.h"
#include "profile/frames.h"
#include "profile/weights.h"

namespace sampan::test {
namespace {

using profile::kNone;
using profile::Profile;

std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + separator.size());
  }
}

template <typename T>
T number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw Error("'{}' is no number", text);
  }
  return value;
}

class Builder {
 public:
  void line(std::string_view text) {
    if (text.starts_with("# process ")) {
      const size_t space = text.find(' ', 10);
      add_process(number<int32_t>(text.substr(10, space - 10)), text.substr(space + 1));
    } else if (text.starts_with("# thread ")) {
      const size_t space = text.find(' ', 9);
      if (profile_.processes.empty()) add_process(100, "/bin/app");
      add_thread(number<int32_t>(text.substr(9, space - 9)), text.substr(space + 1));
    } else {
      const size_t space = text.rfind(' ');
      if (space == text.npos) throw Error("'{}' has no number of samples", text);
      add_samples(text.substr(0, space), number<uint64_t>(text.substr(space + 1)));
    }
  }

  Profile finish() {
    std::stable_sort(profile_.samples.begin(), profile_.samples.end(),
                     [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
    for (profile::Thread& thread : profile_.threads) thread.cpu_ns = thread.sampled_cpu_ns;
    profile_.session.program = profile_.processes.empty() ? "app" : profile_.processes[0].name;
    profile_.session.command = {profile_.session.program};
    profile_.session.rate_hz = profile_.session.kernel_hz = 250;
    profile_.session.start_unix_ns = 1'700'000'000'000'000'000;
    profile_.end = {
        .time_ns = profile_.samples.empty() ? SessionNs() : profile_.samples.back().time_ns,
        .exit_status = 0,
        .exit_signal = {},
        .note = {}};
    return std::move(profile_);
  }

 private:
  void add_process(int32_t pid, std::string_view path) {
    profile::Process& process = profile_.processes.emplace_back();
    process.pid = pid;
    process.parent_pid = 1;
    process.path = path;
    process.name = path.substr(path.rfind('/') + 1);
    executable_ = module(path);
  }

  void add_thread(int32_t tid, std::string_view name) {
    profile::Thread& thread = profile_.threads.emplace_back();
    thread.process = static_cast<uint32_t>(profile_.processes.size() - 1);
    thread.tid = tid;
    thread.name = name;
    thread.is_main = tid == profile_.processes.back().pid;
    time_ns_ = 0;
  }

  void add_samples(std::string_view text, uint64_t count) {
    if (profile_.processes.empty()) add_process(100, "/bin/app");
    if (profile_.threads.empty() ||
        profile_.threads.back().process + 1 != profile_.processes.size()) {
      add_thread(profile_.processes.back().pid, profile_.processes.back().name);
    }
    const bool truncated = text.starts_with("...;");
    const uint32_t at = stack(truncated ? text.substr(4) : text);
    const bool complete = !truncated && at != kNone;
    const wire::StopReason stop = complete ? wire::StopReason::kRoot : wire::StopReason::kNoRule;
    profile_.stops[static_cast<size_t>(stop)] += count;
    profile::Thread& thread = profile_.threads.back();
    const uint32_t wait =
        at == kNone ? kNone : profile_.locations[profile_.stacks[at].location].wait;
    uint64_t& sum = wait == kNone                ? thread.sampled_cpu_ns
                    : profile_.is_runnable(wait) ? thread.runnable_ns
                                                 : thread.waiting_ns;
    sum += count * kSamplePeriod;
    thread.samples += count;
    thread.waiting_samples += wait == kNone ? 0 : count;
    thread.complete_stacks += complete ? count : 0;
    for (uint64_t i = 0; i < count; ++i) {
      profile_.samples.push_back({time_ns_ += kSamplePeriod, kSamplePeriod,
                                  static_cast<uint32_t>(profile_.threads.size() - 1), at, wait,
                                  complete});
    }
  }

  uint32_t stack(std::string_view text) {
    uint32_t at = kNone;
    if (text.empty()) return at;
    for (const std::string_view frame : split(text, ";")) {
      const auto key = std::pair(at, location(frame));
      const auto [place, is_new] =
          stacks_.try_emplace(key, static_cast<uint32_t>(profile_.stacks.size()));
      if (is_new) profile_.stacks.push_back({key.first, key.second});
      at = place->second;
    }
    return at;
  }

  uint32_t location(std::string_view text) {
    const auto [place, is_new] = locations_.try_emplace(
        {executable_, std::string(text)}, static_cast<uint32_t>(profile_.locations.size()));
    if (!is_new) return place->second;
    if (text.starts_with("~")) {
      profile_.locations.push_back(wait_location(text.substr(1)));
      return place->second;
    }

    std::vector<std::string_view> nested = split(text, "=>");
    const uint32_t in = module_of(nested.front());
    const auto first = static_cast<uint32_t>(profile_.lines.size());
    for (size_t i = nested.size(); i-- > 0;) profile_.lines.push_back(line_of(nested[i], in));
    const uint64_t address = 0x1000 + 0x10 * uint64_t{place->second};
    profile_.locations.push_back({.module = in,
                                  .address = in == kNone ? wire::kPythonFrame | address : address,
                                  .first_line = first,
                                  .line_count = static_cast<uint32_t>(nested.size())});
    return place->second;
  }

  profile::Location wait_location(std::string_view text) {
    const size_t space = std::min(text.find(' '), text.size());
    const std::string_view object = text.substr(std::min(space + 1, text.size()));
    const size_t held = object.find(" held in ");
    const profile::Wait wait = {
        {std::string(text.substr(0, space)), std::string(object.substr(0, held))},
        held == object.npos ? "" : std::string(object.substr(held + 9))};
    profile_.session.clock = "wall";
    profile_.functions.push_back({.name = profile_.strings.intern(profile::wait_name(wait))});
    profile_.lines.push_back({.function = static_cast<uint32_t>(profile_.functions.size() - 1)});
    profile_.waits.push_back(wait);
    return {.first_line = static_cast<uint32_t>(profile_.lines.size() - 1),
            .line_count = 1,
            .wait = static_cast<uint32_t>(profile_.waits.size() - 1)};
  }

  // "name@file:defined:line:column@module", all but the name optional.
  uint32_t module_of(std::string_view text) {
    const auto parts = split(text, "@");
    if (parts.size() > 2 && parts[2] == "[python]") return kNone;
    return parts.size() > 2 ? module(parts[2]) : executable_;
  }
  profile::Line line_of(std::string_view text, uint32_t in) {
    const auto parts = split(text, "@");
    profile::Function function{.name = profile_.strings.intern(parts[0]), .module = in};
    uint32_t line = 0, column = 0;
    if (parts.size() > 1 && !parts[1].empty()) {
      const auto place = split(parts[1], ":");
      function.file = profile_.strings.intern(place[0]);
      if (place.size() > 1) function.line = line = number<uint32_t>(place[1]);
      if (place.size() > 2) line = number<uint32_t>(place[2]);
      if (place.size() > 3) column = number<uint32_t>(place[3]);
    }
    const auto known = std::find(profile_.functions.begin(), profile_.functions.end(), function);
    const auto index = static_cast<uint32_t>(known - profile_.functions.begin());
    if (known == profile_.functions.end()) profile_.functions.push_back(function);
    return {index, function.file, line, column};
  }

  uint32_t module(std::string_view path) {
    for (uint32_t i = 0; i < profile_.modules.size(); ++i) {
      if (profile_.modules[i].path == path) return i;
    }
    const auto index = static_cast<uint32_t>(profile_.modules.size());
    profile_.modules.push_back({.path = std::string(path),
                                .build_id = {0xab, static_cast<uint8_t>(index)},
                                .svma_begin = 0x1000,
                                .svma_end = 0x100000});
    return index;
  }

  Profile profile_ = [] {
    Profile profile;
    profile.stops.assign(wire::kStopReasonCount, 0);
    profile.losses.assign(wire::kLossCount, 0);
    return profile;
  }();
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> stacks_;
  std::map<std::pair<uint32_t, std::string>, uint32_t> locations_;
  uint32_t executable_ = kNone;
  SessionNs time_ns_ = 0;
};

}  // namespace

Profile profile_of(std::string_view text) {
  Builder builder;
  for (const std::string_view line : split(text, "\n")) {
    if (!line.empty()) builder.line(line);
  }
  return builder.finish();
}

std::string text_of(const profile::View& view) {
  const Profile& profile = *view.profile;
  std::map<uint32_t, std::map<std::string, uint64_t>> lines;
  std::vector<profile::Frame> frames;
  for (const profile::WeightedStack& row : by_thread_and_stack(view)) {
    root_to_leaf(profile, row.stack, &frames);
    std::string stack;
    for (const profile::Frame& frame : frames) {
      if (&frame != &frames.front()) stack += frame.inlined ? "=>" : ";";
      stack += function_name(profile, frame.function);
    }
    lines[row.thread][stack] += row.weight.samples;
  }
  std::string text;
  for (const uint32_t thread : view.threads) {
    text +=
        fmt::format("# thread {} {}\n", profile.threads[thread].tid, profile.threads[thread].name);
    for (const auto& [stack, samples] : lines[thread]) {
      text += fmt::format("{} {}\n", stack, samples);
    }
  }
  return text;
}

}  // namespace sampan::test
