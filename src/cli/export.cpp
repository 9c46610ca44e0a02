// sampan export: a recording in the formats of other viewers. sampan formats: which there are.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/progress.h"
#include "cli/recording_options.h"
#include "exporters/exporter.h"
#include "profile/view.h"
#include "recording/reader.h"
#include "symbolizer/symbolizer.h"

namespace sampan::cli {
namespace {

using exporters::Format;
using exporters::Written;

struct ExportOptions {
  RecordingOptions input;
  std::vector<std::string> formats;
  bool per_thread = false;
  std::string output;
};

std::vector<const Format*> chosen_formats(const std::vector<std::string>& names) {
  std::vector<const Format*> formats;
  for (const std::string& name : names) {
    try {
      formats.push_back(&exporters::format(name));
    } catch (const Error& error) {
      throw UsageError("{}", error.what());
    }
  }
  return formats;
}

// One merged file goes where --output says, unless that is a directory.
bool is_one_file(const ExportOptions& options) {
  if (options.output.empty() || options.output.back() == '/' || options.per_thread) return false;
  if (std::filesystem::is_directory(options.output)) return false;
  if (options.formats.size() > 1) {
    if (options.output == "-") throw UsageError("export: only one format fits standard output");
    return false;
  }
  return true;
}

std::vector<Written> write(const profile::View& view, const std::vector<const Format*>& formats,
                           const ExportOptions& options, bool one_file) {
  if (one_file) {
    return {{options.output, formats[0],
             formats[0]->write(view, options.output, formats[0]->max_size).notes}};
  }
  const std::string directory = options.output.empty() ? options.input.directory() : options.output;
  return exporters::write_all(view, formats, directory, options.per_thread);
}

int export_recording(const ExportOptions& options) {
  const std::vector<const Format*> formats = chosen_formats(options.formats);
  const bool one_file = is_one_file(options);

  recording::Recording recording = recording::read(options.input.path());
  for (const std::string& damage : recording.damage) {
    fmt::print(stderr, "sampan: {}: {}\n", options.input.path(), damage);
  }
  profile::Profile profile = profile::load(std::move(recording));
  const profile::View view = profile::select(profile, options.input.selection);

  symbolizer::Report names;
  std::vector<Written> written;
  {
    Progress progress;
    names = symbolizer::symbolize(profile, {.progress = [&](size_t done, size_t all) {
                                    progress.show("Finding function names", done, all);
                                  }});
    progress.show("Writing the files");
    written = write(view, formats, options, one_file);
  }
  for (const std::string& problem : names.problems) {
    fmt::print(stderr, "sampan: no symbols: {}\n", problem);
  }
  for (const Written& file : written) {
    if (file.path != "-") fmt::print("{}\n", file.path);
    for (const std::string& note : file.notes) {
      fmt::print(stderr, "sampan: {}: {}\n", file.path, note);
    }
  }
  return 0;
}

int list_formats() {
  for (const Format& format : exporters::formats()) {
    fmt::print("{:<8} {:<9} {}\n", format.name, format.suffix, format.viewer);
  }
  return 0;
}

}  // namespace

void add_export(CLI::App& app, Commands& commands) {
  std::vector<std::string_view> names;
  for (const Format& format : exporters::formats()) names.push_back(format.name);

  CLI::App* const command = app.add_subcommand("export", "Write a recording in other formats");
  const auto options = std::make_shared<ExportOptions>();
  add_recording_options(*command, options->input);
  command
      ->add_option("--format", options->formats,
                   fmt::format("{} (repeatable)", fmt::join(names, ", ")))
      ->type_name("FORMAT")
      ->allow_extra_args(false)
      ->delimiter(',')
      ->required();
  command->add_flag("--per-thread", options->per_thread, "One more file for each thread");
  command
      ->add_option("--output", options->output,
                   "A directory, or the file when there is but one; - for standard output "
                   "(default: beside the recording)")
      ->type_name("DIR|FILE");
  commands.actions[command] = [options] { return export_recording(*options); };

  CLI::App* const formats = app.add_subcommand("formats", "List the formats and their viewers");
  commands.actions[formats] = list_formats;
}

}  // namespace sampan::cli
