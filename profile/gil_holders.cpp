#include "profile/gil_holders.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "profile/frames.h"

namespace sampan::profile {
namespace {

constexpr std::string_view kHeldBy = "held by thread ";

std::optional<int32_t> holder_of(const Wait& wait) {
  if (wait.call != kGil || !wait.object.starts_with(kHeldBy)) return std::nullopt;
  const char* const end = wait.object.data() + wait.object.size();
  int32_t tid = 0;
  const auto read = std::from_chars(wait.object.data() + kHeldBy.size(), end, tid);
  return read.ec == std::errc() ? std::optional(tid) : std::nullopt;
}

class GilHolders {
 public:
  GilHolders(const recording::Recording& from, Profile* profile)
      : from_(from), profile_(*profile), samples_(profile->threads.size()) {
    for (const Wait& wait : profile_.waits) holders_.push_back(holder_of(wait));
    for (uint32_t i = 0; i < profile_.threads.size(); ++i) {
      const Thread& thread = profile_.threads[i];
      threads_[{thread.process, thread.tid}].push_back(i);
    }
    find_functions();
    for (uint32_t i = 0; i < profile_.samples.size(); ++i) {
      const Sample& sample = profile_.samples[i];
      if (sample.wait == kNone) samples_[sample.thread].push_back(i);
    }
  }

  void name() {
    for (Sample& sample : profile_.samples) {
      if (sample.wait == kNone || !holders_[sample.wait]) continue;
      const uint32_t holder = thread_of(sample, *holders_[sample.wait]);
      if (holder == kNone || holder == sample.thread) continue;
      sample.wait = wait_row(sample.wait, holder, function_during(sample, holder));
    }
  }

 private:
  // By row of a stack: the innermost Python function.
  void find_functions() {
    functions_.reserve(from_.stacks.size());
    for (const recording::Stack& row : from_.stacks) {
      const Location& place = profile_.locations[row.frame];
      const bool named = is_python(place) && place.line_count > 0;
      functions_.push_back(named                 ? profile_.lines[place.first_line].function
                           : row.prefix == kNone ? kNone
                                                 : functions_[row.prefix]);
    }
  }

  // A tid may be that of several threads, one after the other.
  uint32_t thread_of(const Sample& sample, int32_t tid) const {
    const auto found = threads_.find({profile_.threads[sample.thread].process, tid});
    if (found == threads_.end()) return kNone;
    uint32_t latest = kNone;
    for (const uint32_t thread : found->second) {
      const SessionNs start_ns = profile_.threads[thread].start_ns;
      if (start_ns > sample.time_ns) continue;
      if (latest == kNone || profile_.threads[latest].start_ns <= start_ns) latest = thread;
    }
    return latest;
  }

  uint32_t function_during(const Sample& wait, uint32_t holder) const {
    const SessionNs begin_ns = wait.time_ns.earlier(wait.weight_ns);
    const std::vector<uint32_t>& samples = samples_[holder];
    const auto first = std::ranges::lower_bound(
        samples, begin_ns, {}, [&](uint32_t i) { return profile_.samples[i].time_ns; });
    if (first == samples.end()) return kNone;
    const Sample& sample = profile_.samples[*first];
    if (sample.time_ns > wait.time_ns || sample.stack == kNone) return kNone;
    return functions_[sample.stack];
  }

  uint32_t wait_row(uint32_t wait, uint32_t holder, uint32_t function) {
    const uint32_t name = function == kNone ? 0 : profile_.functions[function].name;
    const auto next = static_cast<uint32_t>(profile_.waits.size());
    const auto [place, is_new] = rows_.try_emplace({wait, holder, name}, next);
    if (!is_new) return place->second;
    const Thread& thread = profile_.threads[holder];
    Wait row = profile_.waits[wait];
    if (!thread.name.empty()) row.object = fmt::format("{}{} {}", kHeldBy, thread.tid, thread.name);
    row.held_in = profile_.strings[name];
    // What the system called the holder may have changed meanwhile.
    const auto [known, is_first] = by_text_.try_emplace({row.object, row.held_in}, next);
    if (is_first) profile_.waits.push_back(std::move(row));
    return place->second = known->second;
  }

  const recording::Recording& from_;
  Profile& profile_;
  std::vector<std::optional<int32_t>> holders_;                            // by wait: tid
  std::map<std::pair<uint32_t, int32_t>, std::vector<uint32_t>> threads_;  // by process and tid
  std::vector<std::vector<uint32_t>> samples_;                             // on CPU, by thread
  std::vector<uint32_t> functions_;                                        // by row of a stack
  // Rows of waits by wait, holder and name of the function, and by what they say.
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint32_t> rows_;
  std::map<std::pair<std::string, std::string>, uint32_t> by_text_;
};

}  // namespace

void name_gil_holders(const recording::Recording& from, Profile* profile) {
  const bool any = std::ranges::any_of(
      profile->waits, [](const Wait& wait) { return holder_of(wait).has_value(); });
  if (any) GilHolders(from, profile).name();
}

}  // namespace sampan::profile
