// The types of samples that a page has, and the data of each.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "exporters/page_data.h"
#include "exporters/page_parts.h"
#include "profile/shown.h"

namespace sampan::exporters {
namespace {

using profile::HeapPart;
using profile::Shown;

struct SampleType {
  std::string_view name;
  Shown shown;
  HeapPart heap;
};
constexpr SampleType kSampleTypes[] = {{"cpu", Shown::kSamples, HeapPart::kLive},
                                       {"live", Shown::kHeap, HeapPart::kLive},
                                       {"allocated", Shown::kHeap, HeapPart::kAllocated},
                                       {"locks", Shown::kLocks, HeapPart::kLive}};

bool is_shown(const SampleType& type, const profile::View& view) {
  return type.shown == view.profile->shown &&
         (type.shown != Shown::kHeap || type.heap == view.heap);
}

// Whether the page has only what the view shows: of a trace nothing else is known, and what only one
// side of a comparison has would look like a change.
bool is_alone(const profile::View& view) {
  return view.is_of_trace || !view.profile->sides.empty();
}

bool any_waits(const profile::View& view) {
  return std::ranges::any_of(view.samples, [&](uint32_t sample) {
    return view.profile->samples[sample].wait != profile::kNone;
  });
}

}  // namespace

PageLocks::PageLocks(const profile::View& view) : table(lock_table(view)) {
  std::map<profile::LockSides, uint32_t> rows;
  for (const profile::LockSides& each : lock_sides(view, table)) {
    const auto [row, is_new] = rows.try_emplace(each, static_cast<uint32_t>(sides.size()));
    if (is_new) sides.push_back(each);
    labels.push_back(row->second);
  }
}

std::vector<PageData> all_page_data(const profile::View& view, uint64_t max_size) {
  PageSamples samples;
  samples.all.clear();
  for (const SampleType& type : kSampleTypes) {
    if (is_shown(type, view)) samples.first = samples.shown = type.name;
    const bool has = is_alone(view) ? is_shown(type, view) : view.profile->can_show(type.shown);
    if (has) samples.all.push_back(type.name);
  }
  if (samples.all.size() == 1) return {page_data(view, max_size, samples)};

  const uint64_t share = max_size / samples.all.size();
  // Names are the same in all, so they were found before; samples are replaced in a copy.
  profile::Profile other = *view.profile;
  std::vector<PageData> all;
  show(Shown::kSamples, &other);
  const profile::View sampled = same_part(other, view, view.heap);
  samples.waits = any_waits(sampled);
  all.push_back(page_data(view, share, samples));
  for (const SampleType& type : kSampleTypes) {
    if (is_shown(type, view) || !other.can_show(type.shown)) continue;
    show(type.shown, &other);
    samples.shown = type.name;
    all.push_back(page_data(same_part(other, view, type.heap), share, samples));
  }
  return all;
}

}  // namespace sampan::exporters
