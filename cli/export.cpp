// sampan export: writes a recording in other formats. sampan formats: lists them.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/say.h"
#include "cli/command.h"
#include "cli/recorded_profile.h"
#include "cli/recording_options.h"
#include "cli/signals.h"
#include "exporters/exporter.h"
#include "profile/view.h"

namespace sampan::cli {
namespace {

using exporters::Format;
using exporters::Written;

const std::map<std::string, profile::Merge> kMerges = {{"name", profile::Merge::kName},
                                                       {"pool", profile::Merge::kPool}};

struct ExportOptions {
  RecordingOptions input;
  std::vector<std::string> formats;
  exporters::WriteOptions write;
  bool bundle = false;
  std::string output;
};

std::vector<const Format*> formats_named(const std::vector<std::string>& names) {
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

// Replaces the text by the number of bytes.
std::string size_in_bytes(std::string& text) {
  const std::string given = text;
  try {
    return CLI::AsSizeValue(true)(text);
  } catch (const CLI::ValidationError&) {
    throw UsageError("--max-size takes a size such as 50MB, or 0, not '{}'", given);
  }
}

bool is_directory(const std::string& output) {
  return output.empty() || output.back() == '/' || std::filesystem::is_directory(output);
}

// A single merged file is written to --output, unless that is a directory.
bool is_one_file(const ExportOptions& options) {
  if (is_directory(options.output)) return false;
  const bool one =
      options.formats.size() == 1 && !options.write.per_thread && !options.write.per_process;
  if (!one && options.output == "-") {
    throw UsageError("export: standard output takes one file; for several, add --bundle");
  }
  return one;
}

// Prints the notes on each file.
void print_notes(const std::vector<Written>& written) {
  for (const Written& file : written) {
    for (const std::string& note : file.notes) {
      say("sampan: {}: {}\n", file.path, note);
    }
  }
}

// Returns the paths of the written files; for sections, their directories.
std::vector<std::string> write(const profile::View& view, const ExportOptions& options,
                               const std::vector<const Format*>& formats) {
  const std::optional<std::string>& section = options.input.selection.section;
  std::string directory = options.output;
  if (directory.empty()) {
    // Beside the recording, a section's file would look like the file of the whole recording.
    directory = section ? exporters::section_directory(options.input.directory(), *section)
                        : options.input.directory();
  }
  if (options.bundle) {
    if (!is_directory(options.output)) {
      print_notes(exporters::write_bundle(view, formats, options.output, options.write));
      return {options.output};
    }
    const std::string bundle = (std::filesystem::path(directory) / "profile.tar.gz").string();
    print_notes(exporters::write_bundle(view, formats, bundle, options.write));
    return {bundle};
  }
  const std::vector<Written> written =
      is_one_file(options)
          ? std::vector{exporters::write_file(view, *formats[0], options.output, options.write)}
          : exporters::write_all(view, formats, directory, options.write);
  print_notes(written);
  std::vector<std::string> paths;
  for (const Written& file : written) {
    const std::string& path = file.section_directory.empty() ? file.path : file.section_directory;
    if (paths.empty() || paths.back() != path) paths.push_back(path);
  }
  return paths;
}

int export_recording(const ExportOptions& options) {
  const std::vector<const Format*> formats = formats_named(options.formats);
  // reports impossible combinations before the work begins
  if (!options.bundle) is_one_file(options);

  profile::Profile profile = load_profile(options.input);
  const profile::View view = profile::select(profile, options.input.selection);

  std::vector<std::string> problems;
  std::vector<std::string> paths;
  {
    Progress progress;
    problems = find_names(profile, options.input.sysroot, progress);
    progress.show("Writing the files");
    const InterruptibleWriting interruptible;
    paths = write(view, options, formats);
  }
  print_without_symbols(problems);
  for (const std::string& path : paths) {
    if (path != "-") fmt::print("{}\n", path);
  }
  return 0;
}

int list_formats() {
  size_t name_width = 0, suffix_width = 0;
  for (const Format& format : exporters::formats()) {
    name_width = std::max(name_width, format.name.size());
    suffix_width = std::max(suffix_width, format.suffix.size());
  }
  for (const Format& format : exporters::formats()) {
    fmt::print("{:<{}}  {:<{}}  {}\n", format.name, name_width, format.suffix, suffix_width,
               format.viewer);
  }
  return 0;
}

}  // namespace

void add_export(CLI::App& app, Commands& commands) {
  std::vector<std::string_view> names;
  for (const Format& format : exporters::formats()) names.push_back(format.name);

  CLI::App* const command = app.add_subcommand("export", "Write a recording in other formats");
  const auto options = std::make_shared<ExportOptions>();
  options->write.max_sections = exporters::kUsualSections;
  add_recording_options(*command, options->input);
  add_shown_options(*command, options->input.what, options->input.selection);
  add_sysroot_option(*command, options->input.sysroot);
  command
      ->add_option("-f,--format", options->formats,
                   fmt::format("{} (repeatable)", fmt::join(names, ", ")))
      ->type_name("FORMAT")
      ->allow_extra_args(false)
      ->delimiter(',')
      ->required();
  command->add_flag("--per-thread", options->write.per_thread,
                    "Write an additional file for each thread");
  command->add_flag("--per-process", options->write.per_process,
                    "Write an additional file for each process");
  command
      ->add_option_function<std::string>(
          "--merge-by",
          [options](const std::string& word) { options->input.selection.merge = kMerges.at(word); },
          "Merge threads of a process: those with the same name, or those of a pool, whose names "
          "differ only in the number at their end")
      ->type_name("name|pool")
      ->check(CLI::IsMember({"name", "pool"}).description(""));
  command
      ->add_option("--max-size", options->write.max_size,
                   "Maximum size of a file, such as 50MB; 0: no limit (default: what the format's "
                   "viewer can open)")
      ->type_name("SIZE")
      ->transform(CLI::Validator(size_in_bytes, ""));
  command
      ->add_option("--max-sections", options->write.max_sections,
                   "Write a directory of files for each section, of at most so many sections, the "
                   "longest first; 0: none")
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--bundle", options->bundle, "Write one .tar.gz with all files");
  command
      ->add_option(
          "-o,--output", options->output,
          "A directory, or the file if there is only one; -: standard output (default: beside "
          "the recording)")
      ->type_name("DIR|FILE");
  set_examples(*command,
               {"sampan export -f flamegraph", "sampan export -f trace --from 10s --to 1m",
                "sampan export -f pprof,speedscope -o exported/ -2"});
  commands.actions[command] = [options] { return export_recording(*options); };

  CLI::App* const formats = app.add_subcommand("formats", "List the formats and their viewers");
  set_examples(*formats, {"sampan formats", "sampan formats | grep pprof",
                          "sampan run -f speedscope -- ./program"});
  commands.actions[formats] = list_formats;
}

}  // namespace sampan::cli
