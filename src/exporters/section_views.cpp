#include "exporters/section_views.h"

#include <fmt/core.h>

#include <unordered_set>
#include <utility>

#include "profile/sections.h"
#include "profile/view_markers.h"

namespace sampan::exporters {
namespace {

constexpr size_t kMostSectionRows = 2;
constexpr size_t kAlwaysSectionRows = 200'000;
constexpr size_t kMostSectionThreads = 50;

// About what the files of a view take.
size_t rows(const profile::View& view) {
  const profile::ViewMarkers markers = profile::markers_of(view);
  return view.samples.size() + markers.spans.size() + markers.events.size() +
         markers.counters.size();
}

size_t threads_with_samples(const profile::View& view) {
  std::unordered_set<uint32_t> threads;
  for (const uint32_t sample : view.samples) {
    threads.insert(view.thread_of(view.profile->samples[sample].thread));
  }
  return threads.size();
}

}  // namespace

std::vector<std::string> for_each_section(const profile::View& view, const WriteOptions& options,
                                          const VisitSection& visit) {
  const profile::Profile& profile = *view.profile;
  if (view.section || options.max_sections == 0 || profile.markers.sections.empty()) return {};
  std::vector<profile::NamedSection> sections = profile::named_sections(profile);
  const size_t all = sections.size();
  sections = profile::longest_sections(std::move(sections), options.max_sections);
  size_t left = kMostSectionRows * rows(view) + kAlwaysSectionRows;
  size_t visited = 0, without_threads = 0;
  for (const profile::NamedSection& section : sections) {
    const profile::View part = profile::only_section(view, section);
    const size_t taken = rows(part);
    if (taken > left) break;
    left -= taken;
    ++visited;
    if (part.threads.empty()) continue;
    WriteOptions own = options;
    if (own.per_thread && threads_with_samples(part) > kMostSectionThreads) {
      own.per_thread = false;
      ++without_threads;
    }
    visit(part, profile.markers.texts[section.name], own);
  }
  std::vector<std::string> notes;
  if (without_threads != 0) {
    notes.push_back(
        fmt::format("{} of the sections have more than {} threads, and no files of "
                    "single ones",
                    without_threads, kMostSectionThreads));
  }
  if (visited < sections.size()) {
    notes.push_back(
        fmt::format("the {} longest of {} sections have a directory: they overlap, and "
                    "all would be too large. --section writes one",
                    visited, all));
  } else if (visited < all) {
    notes.push_back(
        fmt::format("the {} longest of {} sections have a directory: --max-sections is how many",
                    visited, all));
  }
  return notes;
}

}  // namespace sampan::exporters
