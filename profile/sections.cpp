#include "profile/sections.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/nearest.h"

namespace sampan::profile {
namespace {

void add(const Profile& profile, uint32_t row, NamedSection* named) {
  const Section& section = profile.markers.sections[row];
  const uint64_t wall_ns = section.end_ns - section.begin_ns;
  named->rows.push_back(row);
  named->wall_ns += wall_ns;
  named->longest_ns = std::max(named->longest_ns, wall_ns);
  named->unclosed += section.closed != Closed::kByProgram;
}

// Calls visit(sample) for the samples of the view that were taken inside.
template <typename Visit>
void for_each_sample(const View& view, const SectionTimes& times, const Visit& visit) {
  const std::vector<Sample>& samples = view.profile->samples;
  const auto first = std::lower_bound(
      view.samples.begin(), view.samples.end(), times.begin_ns(),
      [&](uint32_t sample, SessionNs time_ns) { return samples[sample].time_ns < time_ns; });
  for (auto next = first; next != view.samples.end(); ++next) {
    const Sample& sample = samples[*next];
    if (sample.time_ns > times.end_ns()) return;
    if (times.meet(sample.thread, sample.time_ns, sample.time_ns)) visit(*next);
  }
}

// By thread of the profile: whether it, or a thread that is merged into it, lived in the view's
// time.
std::vector<bool> lived(const View& view) {
  const Profile& profile = *view.profile;
  std::vector<bool> result(profile.threads.size());
  for (uint32_t i = 0; i < result.size(); ++i) {
    const Thread& thread = profile.threads[i];
    if (view.meets(i, thread.start_ns, thread.end_ns.value_or(SessionNs(UINT64_MAX)))) {
      result[view.thread_of(i)] = true;
    }
  }
  return result;
}

}  // namespace

void SectionTimes::Intervals::add(SessionNs begin_ns, SessionNs end_ns) {
  auto next = ends_.upper_bound(begin_ns);
  if (next != ends_.begin() && std::prev(next)->second >= begin_ns) --next;
  while (next != ends_.end() && next->first <= end_ns) {
    begin_ns = std::min(begin_ns, next->first);
    end_ns = std::max(end_ns, next->second);
    next = ends_.erase(next);
  }
  ends_.emplace(begin_ns, end_ns);
}

bool SectionTimes::Intervals::meet(SessionNs begin_ns, SessionNs end_ns) const {
  const auto next = ends_.upper_bound(end_ns);
  return next != ends_.begin() && std::prev(next)->second >= begin_ns;
}

SectionTimes::SectionTimes(const Profile& profile, const std::vector<uint32_t>& rows)
    : profile_(profile) {
  for (const uint32_t row : rows) {
    const Section& section = profile.markers.sections[row];
    if (name_.empty()) name_ = profile.markers.texts[section.name];
    if (section.thread == kNone) {
      add_with_forked(section);
    } else {
      of_thread_[section.thread].add(section.begin_ns, section.end_ns);
    }
    begin_ns_ = std::min(begin_ns_, section.begin_ns);
    end_ns_ = std::max(end_ns_, section.end_ns);
  }
}

// A process is in the table before those that it forks, and again after each exec.
void SectionTimes::add_with_forked(const Section& section) {
  of_process_[section.process].add(section.begin_ns, section.end_ns);
  const Process& first = profile_.processes[section.process];
  std::set<int32_t> inside = {first.pid};
  for (uint32_t i = section.process + 1; i < profile_.processes.size(); ++i) {
    const Process& process = profile_.processes[i];
    const bool began_inside =
        process.start_ns >= section.begin_ns && process.start_ns <= section.end_ns;
    if (process.origin != first.origin || !began_inside || !inside.contains(process.parent_pid)) {
      continue;
    }
    inside.insert(process.pid);
    of_process_[i].add(section.begin_ns, section.end_ns);
  }
}

bool SectionTimes::meet(uint32_t thread, SessionNs begin_ns, SessionNs end_ns) const {
  const auto own = of_thread_.find(thread);
  if (own != of_thread_.end() && own->second.meet(begin_ns, end_ns)) return true;
  const auto all = of_process_.find(profile_.threads[thread].process);
  return all != of_process_.end() && all->second.meet(begin_ns, end_ns);
}

bool SectionTimes::meet_process(uint32_t process, SessionNs begin_ns, SessionNs end_ns) const {
  const auto all = of_process_.find(process);
  if (all != of_process_.end() && all->second.meet(begin_ns, end_ns)) return true;
  return std::any_of(of_thread_.begin(), of_thread_.end(), [&](const auto& entry) {
    return profile_.threads[entry.first].process == process && entry.second.meet(begin_ns, end_ns);
  });
}

std::vector<NamedSection> named_sections(const Profile& profile) {
  std::vector<NamedSection> result;
  std::unordered_map<uint32_t, size_t> places;
  for (uint32_t row = 0; row < profile.markers.sections.size(); ++row) {
    const uint32_t name = profile.markers.sections[row].name;
    const auto [place, is_new] = places.try_emplace(name, result.size());
    if (is_new) result.push_back({.name = name});
    add(profile, row, &result[place->second]);
  }
  return result;
}

NamedSection named_section(const Profile& profile, const std::string& name) {
  const Markers& markers = profile.markers;
  NamedSection result;
  std::vector<std::string> known;
  for (uint32_t row = 0; row < markers.sections.size(); ++row) {
    const std::string& text = markers.texts[markers.sections[row].name];
    if (text == name) {
      result.name = markers.sections[row].name;
      add(profile, row, &result);
    } else if (known.size() < kMostCandidates) {
      known.push_back(text);
    }
  }
  if (!result.rows.empty()) return result;
  if (markers.sections.empty()) throw Error("the recording has no sections: none is '{}'", name);
  throw Error("no section is called '{}'{}", name, did_you_mean(name, known));
}

std::vector<NamedSection> longest_sections(std::vector<NamedSection> sections, size_t most) {
  std::stable_sort(
      sections.begin(), sections.end(),
      [](const NamedSection& a, const NamedSection& b) { return a.longest_ns > b.longest_ns; });
  if (sections.size() > most) sections.resize(most);
  return sections;
}

View only_section(const View& view, const NamedSection& section) {
  const auto times = std::make_shared<SectionTimes>(*view.profile, section.rows);
  std::vector<uint32_t> samples;
  for_each_sample(view, *times, [&](uint32_t sample) { samples.push_back(sample); });
  View result = view.part(std::move(samples), {});
  result.section = times;
  result.from_ns = std::max(view.from_ns, times->begin_ns());
  result.to_ns = std::min(view.to_ns, times->end_ns());
  const std::vector<bool> has = lived(result);
  std::copy_if(view.threads.begin(), view.threads.end(), std::back_inserter(result.threads),
               [&](uint32_t thread) { return has[thread]; });
  return result;
}

SectionWeight section_weight(const View& view, const NamedSection& section) {
  SectionWeight result;
  for_each_sample(view, SectionTimes(*view.profile, section.rows), [&](uint32_t index) {
    const Sample& sample = view.profile->samples[index];
    (sample.wait == kNone ? result.cpu : result.waiting) += {sample.weight_ns, 1};
  });
  return result;
}

}  // namespace sampan::profile
