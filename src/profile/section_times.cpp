#include "profile/section_times.h"

#include <algorithm>
#include <iterator>

namespace sampan::profile {

void SectionTimes::Intervals::add(uint64_t begin_ns, uint64_t end_ns) {
  auto next = ends_.upper_bound(begin_ns);
  if (next != ends_.begin() && std::prev(next)->second >= begin_ns) --next;
  while (next != ends_.end() && next->first <= end_ns) {
    begin_ns = std::min(begin_ns, next->first);
    end_ns = std::max(end_ns, next->second);
    next = ends_.erase(next);
  }
  ends_.emplace(begin_ns, end_ns);
}

bool SectionTimes::Intervals::meet(uint64_t begin_ns, uint64_t end_ns) const {
  const auto next = ends_.upper_bound(end_ns);
  return next != ends_.begin() && std::prev(next)->second >= begin_ns;
}

SectionTimes::SectionTimes(const Profile& profile, const std::vector<uint32_t>& rows)
    : profile_(profile) {
  for (const uint32_t row : rows) {
    const Section& section = profile.markers.sections[row];
    if (name_.empty()) name_ = profile.markers.texts[section.name];
    const bool of_all = section.thread == kNone;
    (of_all ? of_process_[section.process] : of_thread_[section.thread])
        .add(section.begin_ns, section.end_ns);
    begin_ns_ = std::min(begin_ns_, section.begin_ns);
    end_ns_ = std::max(end_ns_, section.end_ns);
  }
}

bool SectionTimes::meet(uint32_t thread, uint64_t begin_ns, uint64_t end_ns) const {
  const auto own = of_thread_.find(thread);
  if (own != of_thread_.end() && own->second.meet(begin_ns, end_ns)) return true;
  const auto all = of_process_.find(profile_.threads[thread].process);
  return all != of_process_.end() && all->second.meet(begin_ns, end_ns);
}

bool SectionTimes::meet_process(uint32_t process, uint64_t begin_ns, uint64_t end_ns) const {
  const auto all = of_process_.find(process);
  if (all != of_process_.end() && all->second.meet(begin_ns, end_ns)) return true;
  return std::any_of(of_thread_.begin(), of_thread_.end(), [&](const auto& entry) {
    return profile_.threads[entry.first].process == process && entry.second.meet(begin_ns, end_ns);
  });
}

}  // namespace sampan::profile
