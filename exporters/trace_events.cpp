#include "exporters/trace_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

#include "exporters/escaped_text.h"
#include "profile/frames.h"

namespace sampan::exporters {
namespace {

using profile::FunctionKind;

// Names of colours of chrome://tracing (base/color_scheme.html); it refuses others. They have
// different hues, none near the grey of waits. Perfetto has its own colours.
constexpr std::string_view kWaitColour = "grey";
constexpr std::string_view kPythonColour = "yellow";
constexpr std::array<std::string_view, 12> kModuleColours = {"rail_response",
                                                             "rail_load",
                                                             "rail_idle",
                                                             "rail_animation",
                                                             "thread_state_runnable",
                                                             "thread_state_running",
                                                             "thread_state_unknown",
                                                             "thread_state_uninterruptible",
                                                             "background_memory_dump",
                                                             "detailed_memory_dump",
                                                             "cq_build_running",
                                                             "olive"};
constexpr std::string_view kWaitCategory = R"("waiting")";
constexpr std::string_view kPythonCategory = R"("python")";

std::string metadata(std::string_view kind, int32_t pid, int64_t tid, std::string_view key,
                     std::string_view value) {
  return fmt::format(R"({{"name":"{}","ph":"M","pid":{},"tid":{},"args":{{"{}":{}}}}})", kind, pid,
                     tid, key, value);
}

// By module; "" when all colours are taken.
std::vector<std::string_view> colours_of_modules(const profile::View& view) {
  const profile::Profile& profile = *view.profile;
  std::vector<uint64_t> self_ns(profile.modules.size());
  for (const uint32_t index : view.samples) {
    const profile::Sample& sample = profile.samples[index];
    if (sample.stack == profile::kNone) continue;
    const uint32_t module = profile.locations[profile.stacks[sample.stack].location].module;
    if (module != profile::kNone) self_ns[module] += sample.weight_ns;
  }
  std::vector<uint32_t> order(profile.modules.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return self_ns[a] > self_ns[b]; });
  std::vector<std::string_view> colours(order.size());
  for (size_t i = 0; i < order.size() && i < kModuleColours.size(); ++i) {
    colours[order[i]] = kModuleColours[i];
  }
  return colours;
}

constexpr int32_t kAbovePids = 1 << 28;  // Linux's are at most 1 << 22

size_t digits(uint64_t number) {
  size_t count = 1;
  for (; number >= 10; number /= 10) ++count;
  return count;
}

}  // namespace

TraceEvents::TraceEvents(const profile::View& view)
    : profile_(*view.profile),
      pids_(trace_pids(profile_)),
      kinds_(profile::function_kinds(profile_)),
      colours_(colours_of_modules(view)),
      heads_(profile_.functions.size() + 1) {}

const std::string& TraceEvents::head(uint32_t function) const {
  const bool known = function != profile::kNone;
  std::string& head = known ? heads_[function] : heads_.back();
  if (!head.empty()) return head;
  const uint32_t module = known ? profile_.functions[function].module : profile::kNone;
  const FunctionKind kind = known ? kinds_[function] : FunctionKind::kNative;
  const std::string_view colour = kind == FunctionKind::kWait     ? kWaitColour
                                  : kind == FunctionKind::kPython ? kPythonColour
                                  : module != profile::kNone      ? colours_[module]
                                                                  : std::string_view();
  const std::string category = kind == FunctionKind::kWait ? std::string(kWaitCategory)
                               : kind == FunctionKind::kPython
                                   ? std::string(kPythonCategory)
                                   : json_string(profile::module_name(profile_, module));
  head = fmt::format(R"({{"name":{},"cat":{},"ph":"X"{})",
                     json_string(profile::function_name(profile_, function)), category,
                     colour.empty() ? "" : fmt::format(R"(,"cname":"{}")", colour));
  return head;
}

void TraceEvents::set_thread(const profile::Thread& thread) {
  tail_ = fmt::format(R"(,"pid":{},"tid":{}}})", pids_[thread.process], thread.tid);
}

void TraceEvents::append_slice(uint32_t function, uint64_t begin_us, uint64_t end_us,
                               std::string* out) const {
  *out += head(function);
  fmt::format_to(std::back_inserter(*out), R"(,"ts":{},"dur":{})", begin_us, end_us - begin_us);
  *out += tail_;
}

uint64_t TraceEvents::slice_size(uint32_t function, uint64_t begin_us, uint64_t end_us) const {
  constexpr std::string_view kWords = R"(,"ts":,"dur":)";
  return head(function).size() + kWords.size() + digits(begin_us) + digits(end_us - begin_us) +
         tail_.size();
}

std::vector<int32_t> trace_pids(const profile::Profile& profile) {
  int32_t free = kAbovePids;
  std::map<int32_t, uint32_t> owners;                     // the origin that has the pid itself
  std::map<std::pair<uint32_t, int32_t>, int32_t> known;  // by origin and pid
  std::vector<int32_t> pids;
  for (const profile::Process& process : profile.processes) {
    const bool is_own =
        owners.try_emplace(process.pid, process.origin).first->second == process.origin;
    const auto [entry, is_new] =
        known.try_emplace({process.origin, process.pid}, is_own ? process.pid : free);
    if (is_new && !is_own) ++free;
    pids.push_back(entry->second);
  }
  return pids;
}

std::string metadata_event(std::string_view kind, int32_t pid, int64_t tid, std::string_view name) {
  return metadata(kind, pid, tid, "name", json_string(name));
}

std::string counter_event(std::string_view name, int32_t pid, uint64_t time_us,
                          std::string_view series, double value) {
  return fmt::format(R"({{"name":"{}","ph":"C","pid":{},"ts":{},"args":{{"{}":{:.2f}}}}})", name,
                     pid, time_us, series, value);
}

std::string metadata_event(std::string_view kind, int32_t pid, int64_t tid, size_t sort_index) {
  return metadata(kind, pid, tid, "sort_index", std::to_string(sort_index));
}

}  // namespace sampan::exporters
