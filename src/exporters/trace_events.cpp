#include "exporters/trace_events.h"

#include <fmt/format.h>

#include <iterator>

#include "exporters/json_text.h"
#include "profile/frames.h"

namespace sampan::exporters {
namespace {

// A colour of chrome://tracing (base/color_scheme.html). Perfetto has its own.
constexpr std::string_view kGrey = R"(,"cname":"grey")";
constexpr std::string_view kWaitCategory = R"("waiting")";

std::string metadata(std::string_view kind, int32_t pid, int32_t tid, std::string_view key,
                     std::string_view value) {
  return fmt::format(R"({{"name":"{}","ph":"M","pid":{},"tid":{},"args":{{"{}":{}}}}})", kind, pid,
                     tid, key, value);
}

size_t digits(uint64_t number) {
  size_t count = 1;
  for (; number >= 10; number /= 10) ++count;
  return count;
}

}  // namespace

TraceEvents::TraceEvents(const profile::Profile& profile) : profile_(profile) {
  std::vector<bool> waits(profile.functions.size());
  for (const profile::Location& location : profile.locations) {
    if (location.wait == profile::kNone || location.line_count == 0) continue;
    waits[profile.lines[location.first_line].function] = true;
  }
  const auto head = [&](uint32_t function, uint32_t module) {
    const bool is_wait = function != profile::kNone && waits[function];
    return fmt::format(R"({{"name":{},"cat":{},"ph":"X"{})",
                       json_string(profile::function_name(profile, function)),
                       is_wait ? kWaitCategory : json_string(profile::module_name(profile, module)),
                       is_wait ? kGrey : "");
  };
  for (uint32_t i = 0; i < profile.functions.size(); ++i) {
    heads_.push_back(head(i, profile.functions[i].module));
  }
  heads_.push_back(head(profile::kNone, profile::kNone));
}

void TraceEvents::set_thread(const profile::Thread& thread) {
  tail_ =
      fmt::format(R"(,"pid":{},"tid":{}}})", profile_.processes[thread.process].pid, thread.tid);
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

std::string metadata_event(std::string_view kind, int32_t pid, int32_t tid, std::string_view name) {
  return metadata(kind, pid, tid, "name", json_string(name));
}

std::string metadata_event(std::string_view kind, int32_t pid, int32_t tid, size_t sort_index) {
  return metadata(kind, pid, tid, "sort_index", std::to_string(sort_index));
}

}  // namespace sampan::exporters
