// The names and files of a directory, or of a bundle.
#include <fmt/core.h>

#include <filesystem>
#include <functional>
#include <string>
#include <system_error>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/safe_file_name.h"
#include "base/temporary_directory.h"
#include "exporters/bundle.h"
#include "exporters/exporter.h"
#include "exporters/thread_names.h"
#include "profile/markers.h"
#include "profile/sections.h"

namespace sampan::exporters {
namespace {

// `options` are the section's own: one with very many threads has no files of single threads.
using VisitSection = std::function<void(const profile::View& part, const std::string& section,
                                        const WriteOptions& options)>;

constexpr size_t kMostSectionRows = 2;
constexpr size_t kAlwaysSectionRows = 200'000;
constexpr size_t kMostSectionThreads = 50;

// The approximate size of the files of a view.
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

// Selects the sections of a view that get files of their own: those with the longest occurrences,
// as many as the options say. Sections may overlap and span the whole run, so their files together
// are limited to a few times those of the run.
//
// Calls visit for each, the longest first. Returns notes about those left out.
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

namespace fs = std::filesystem;

std::string merged_file_name(const Format& format) {
  if (format.name == "html") return "profile.html";  // the one that shows everything
  return fmt::format("profile_{}{}", format.per_thread ? "overall" : format.name, format.suffix);
}

// Formats without files of single threads share suffixes with the others, so they add their name.
std::string process_file_name(const profile::Process& process, const Format& format) {
  return fmt::format("profile_process_{}_{}{}{}{}", process.pid, file_name_part(process.name),
                     format.per_thread ? "" : "_", format.per_thread ? "" : format.name,
                     format.suffix);
}

// The views of each thread, or of each process, that has samples, in one pass over the samples.
template <typename KeyOf>
std::vector<std::pair<uint32_t, profile::View>> split(const profile::View& view, size_t keys,
                                                      const KeyOf& key_of) {
  std::vector<std::vector<uint32_t>> samples(keys), threads(keys);
  std::vector<uint32_t> order;
  for (const uint32_t thread : view.threads) {
    if (threads[key_of(thread)].empty()) order.push_back(key_of(thread));
    threads[key_of(thread)].push_back(thread);
  }
  for (const uint32_t sample : view.samples) {
    samples[key_of(view.thread_of(view.profile->samples[sample].thread))].push_back(sample);
  }
  std::vector<std::pair<uint32_t, profile::View>> result;
  for (const uint32_t key : order) {
    if (samples[key].empty()) continue;
    result.emplace_back(key, view.part(std::move(samples[key]), std::move(threads[key])));
  }
  return result;
}

using Visit = std::function<void(const profile::View&, const Format&, const std::string& name)>;

// Visits every file of a view, each with a unique name.
void for_each_file_of(const profile::View& view, std::span<const Format* const> formats,
                      const WriteOptions& options, const Visit& visit) {
  const profile::Profile& profile = *view.profile;
  std::unordered_set<std::string> names;
  const auto with_name = [&](const profile::View& part, const Format& format, std::string name) {
    // After an exec, a process's main thread is there twice, with the same tid.
    const std::string stem = name.substr(0, name.size() - format.suffix.size());
    for (int i = 2; !names.insert(name).second; ++i) {
      name = fmt::format("{}_{}{}", stem, i, format.suffix);
    }
    visit(part, format, name);
  };

  for (const Format* format : formats) with_name(view, *format, merged_file_name(*format));
  if (options.per_process) {
    const auto process_of = [&](uint32_t thread) { return profile.threads[thread].process; };
    for (const auto& [process, part] : split(view, profile.processes.size(), process_of)) {
      for (const Format* format : formats) {
        with_name(part, *format, process_file_name(profile.processes[process], *format));
      }
    }
  }
  if (options.per_thread) {
    const auto itself = [](uint32_t thread) { return thread; };
    for (const auto& [index, part] : split(view, profile.threads.size(), itself)) {
      profile::Thread thread = profile.threads[index];
      thread.name = view.thread_name(index);
      for (const Format* format : formats) {
        if (format->per_thread) with_name(part, *format, thread_file_name(thread, *format));
      }
    }
  }
}

// Calls write(view, format, path) for every requested file, and collects the results.
template <typename Write>
std::vector<Written> write_files(const profile::View& view, std::span<const Format* const> formats,
                                 const std::string& directory, const WriteOptions& options,
                                 const Write& write) {
  std::vector<Written> written;
  const auto add_to = [&](const std::string& place) {
    return [&, place](const profile::View& part, const Format& format, const std::string& name) {
      written.push_back(write(part, format, (fs::path(place) / name).string()));
    };
  };
  for_each_file_of(view, formats, options, add_to(directory));

  std::vector<const Format*> of_sections(formats.begin(), formats.end());
  // The page of the run has all sections.
  std::erase_if(of_sections, [](const Format* format) { return format->name == "html"; });
  const std::vector<std::string> notes = for_each_section(
      view, options,
      [&](const profile::View& part, const std::string& section, const WriteOptions& own) {
        const std::string place = section_directory(directory, section);
        const size_t first = written.size();
        for_each_file_of(part, of_sections, own, add_to(place));
        for (size_t k = first; k < written.size(); ++k) written[k].section_directory = place;
      });
  if (!written.empty()) {
    written.back().notes.insert(written.back().notes.end(), notes.begin(), notes.end());
  }
  return written;
}

void create_directory(const std::string& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) throw Error("creating {}: {}", directory, error.message());
}

// For the files of a bundle: beside it, or with other temporary files if it is no file.
TemporaryDirectory directory_for(const std::string& bundle) {
  const bool is_file = !fs::exists(bundle) || fs::is_regular_file(bundle);
  if (bundle == "-" || !is_file) return TemporaryDirectory(".sampan-bundle-");
  return {".sampan-bundle-", fs::absolute(bundle).parent_path()};
}

}  // namespace

std::string thread_file_name(const profile::Thread& thread, const Format& format) {
  return fmt::format("profile_thread_{}_{}{}", thread.tid, file_name_part(thread.name),
                     format.suffix);
}

Written write_file(const profile::View& view, const Format& format, const std::string& path,
                   const WriteOptions& options) {
  const std::string& unit = view.profile->session.unit;
  if (format.of_time && !unit.empty()) {
    throw Error("{}: {} shows time only, and this profile counts {}: choose another format", path,
                format.name, unit);
  }
  const uint64_t max_size = options.max_size.value_or(format.max_size);
  const bool unmerge = format.timeline && view.merge != profile::Merge::kNothing;
  Written written = {path, &format, {}};
  written.notes = format.write(unmerge ? profile::unmerged(view) : view, path, max_size).notes;
  if (unmerge) {
    written.notes.push_back(fmt::format(
        "the threads of {} stay apart: --merge-by is for formats without a timeline", format.name));
  }
  std::error_code error;
  const uint64_t size = fs::is_regular_file(path, error) ? fs::file_size(path, error) : 0;
  if (max_size != 0 && !error && size > max_size) {
    written.notes.push_back(fmt::format("{:.1f} MB: {} cannot be made smaller",
                                        static_cast<double>(size) / 1e6, format.name));
  }
  return written;
}

std::string section_directory(const std::string& directory, const std::string& section) {
  return (fs::path(directory) / "sections" / safe_file_name(section)).string();
}

std::vector<Written> write_all(const profile::View& view, std::span<const Format* const> formats,
                               const std::string& directory, const WriteOptions& options) {
  return write_files(view, formats, directory, options,
                     [&](const profile::View& part, const Format& format, const std::string& path) {
                       create_directory(fs::path(path).parent_path().string());
                       return write_file(part, format, path, options);
                     });
}

std::vector<Written> write_bundle(const profile::View& view, std::span<const Format* const> formats,
                                  const std::string& path, const WriteOptions& options) {
  const fs::path parent = fs::path(path).parent_path();
  if (path != "-" && !parent.empty()) create_directory(parent.string());
  OutputFile file(path);
  Bundle bundle(file);
  const TemporaryDirectory passing = directory_for(path);
  const std::string one = passing.file("one");
  std::vector<Written> written = write_files(
      view, formats, "profile", options,
      [&](const profile::View& part, const Format& format, const std::string& name) {
        Written result = write_file(part, format, one + std::string(format.suffix), options);
        bundle.add(name, result.path);
        fs::remove(result.path);
        result.path = name;
        return result;
      });
  bundle.finish();
  file.commit();
  return written;
}

}  // namespace sampan::exporters
