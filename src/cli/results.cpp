#include "cli/results.h"

#include <fmt/core.h>

#include <cstdio>
#include <filesystem>
#include <set>

#include "cli/interruptible_writing.h"
#include "cli/progress.h"
#include "cli/recorded_profile.h"
#include "cli/recording_options.h"
#include "profile/view.h"
#include "recording/segment_files.h"
#include "reports/report.h"

namespace sampan::cli {
namespace {

// The merged files with what opens them; those of single threads are only counted.
std::vector<reports::OutputFile> output_files(const std::string& directory,
                                              const std::vector<exporters::Written>& written) {
  std::vector<reports::OutputFile> files = {
      {recording_path(directory), "sampan report " + directory}};
  size_t of_threads = 0;
  std::set<std::string> of_sections;
  for (const exporters::Written& file : written) {
    if (!file.section_directory.empty()) {
      of_sections.insert(file.section_directory);
    } else if (file.path.find("/profile_thread_") != std::string::npos) {
      ++of_threads;
    } else {
      files.push_back({file.path, std::string(file.format->viewer)});
    }
  }
  if (of_threads != 0) {
    files.push_back({fmt::format("{}/profile_thread_*: {} of single threads", directory,
                                 of_threads == 1 ? "1 file" : fmt::format("{} files", of_threads)),
                     ""});
  }
  if (!of_sections.empty()) {
    files.push_back(
        {fmt::format("{}/sections/*: {} of single sections", directory,
                     of_sections.size() == 1 ? "1 directory"
                                             : fmt::format("{} directories", of_sections.size())),
         ""});
  }
  return files;
}

void print_page(const profile::View& view, const std::string& directory,
                const std::vector<exporters::Written>& written, std::vector<std::string> notes) {
  reports::PageOptions options = reports::page_options_for(stderr);
  options.files = output_files(directory, written);
  options.notes = std::move(notes);
  for (const exporters::Written& file : written) {
    options.notes.insert(options.notes.end(), file.notes.begin(), file.notes.end());
  }
  fmt::print(stderr, "{}", reports::page(view, options));
}

}  // namespace

void write_results(const std::string& directory, const ResultOptions& options) {
  if (options.formats.empty() && !options.page) return;
  profile::Profile profile = profile::load(recording::read_whole(recording_path(directory)));
  std::vector<std::string> notes;
  std::vector<exporters::Written> written;
  {
    Progress progress;
    notes = find_names(profile, progress, options.substitutes);
    const std::string path = recording_path(directory);
    if (options.symbolize && !std::filesystem::is_directory(path)) record_names(path, profile);
    progress.show("Writing the files");
    const InterruptibleWriting interruptible;
    written = exporters::write_all(profile::select(profile), options.formats, directory,
                                   {.per_thread = true, .max_sections = options.max_sections});
  }
  if (options.page) print_page(profile::select(profile), directory, written, std::move(notes));
}

}  // namespace sampan::cli
