// The files of one directory, and their names.
#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <unordered_set>

#include "base/error.h"
#include "exporters/exporter.h"
#include "exporters/thread_names.h"

namespace sampan::exporters {
namespace {

std::string merged_file_name(const Format& format) {
  if (format.name == "html") return "profile.html";  // the one that shows everything
  return fmt::format("profile_{}{}", format.per_thread ? "overall" : format.name, format.suffix);
}

// The views of the threads that have samples, in the view's order, in one pass over the samples.
std::vector<std::pair<uint32_t, profile::View>> split_by_thread(const profile::View& view) {
  std::vector<std::vector<uint32_t>> samples(view.profile->threads.size());
  for (const uint32_t sample : view.samples) {
    samples[view.thread_of(view.profile->samples[sample].thread)].push_back(sample);
  }
  std::vector<std::pair<uint32_t, profile::View>> result;
  for (const uint32_t thread : view.threads) {
    if (samples[thread].empty()) continue;
    result.emplace_back(thread, view.part(std::move(samples[thread]), {thread}));
  }
  return result;
}

}  // namespace

std::string thread_file_name(const profile::Thread& thread, const Format& format) {
  return fmt::format("profile_thread_{}_{}{}", thread.tid, file_name_part(thread.name),
                     format.suffix);
}

std::vector<Written> write_all(const profile::View& view, std::span<const Format* const> formats,
                               const std::string& directory, bool per_thread) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) throw Error("creating {}: {}", directory, error.message());

  std::vector<Written> written;
  std::unordered_set<std::string> names;
  const auto write = [&](const profile::View& part, const Format& format, std::string name) {
    // After an exec, a process's main thread is there twice, with one tid.
    const std::string stem = name.substr(0, name.size() - format.suffix.size());
    for (int i = 2; !names.insert(name).second; ++i) {
      name = fmt::format("{}_{}{}", stem, i, format.suffix);
    }
    const std::string path = (std::filesystem::path(directory) / name).string();
    written.push_back({path, &format, format.write(part, path, format.max_size).notes});
  };

  for (const Format* format : formats) write(view, *format, merged_file_name(*format));
  if (!per_thread) return written;
  for (const auto& [thread, part] : split_by_thread(view)) {
    for (const Format* format : formats) {
      if (!format->per_thread) continue;
      write(part, *format, thread_file_name(view.profile->threads[thread], *format));
    }
  }
  return written;
}

}  // namespace sampan::exporters
