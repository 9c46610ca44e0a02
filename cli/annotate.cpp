// sampan annotate: the time spent in a function, beside its source or its instructions.
#include "profile/annotate.h"

#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/page_sources.h"
#include "cli/recorded_profile.h"
#include "cli/recording_options.h"
#include "cli/table_options.h"
#include "profile/view.h"
#include "reports/annotate.h"
#include "symbolizer/function_code.h"

namespace sampan::cli {
namespace {

struct AnnotateOptions {
  RecordingOptions recording;
  TableOptions table;
  std::string function;
  std::vector<std::string> source_paths;
  std::string sources_below;
  bool assembly = false;
  bool json = false;
};

int annotate(const AnnotateOptions& options) {
  const std::vector<symbolizer::SourceMapping> mappings =
      source_mappings(options.source_paths, options.recording.sysroot);
  profile::Profile profile = load_profile(options.recording);
  const profile::View view = profile::select(profile, options.recording.selection);
  find_names(profile, options.recording.sysroot);
  const profile::Annotation annotation = profile::annotate(view, options.function);
  reports::Annotated annotated{
      .view = view, .annotation = annotation, .sources = {}, .code = {}, .notes = {}};
  annotated.sources = symbolizer::find_sources(profile, annotation, mappings, &annotated.notes,
                                               options.sources_below);
  if (options.assembly && annotation.is_python) {
    annotated.notes.emplace_back("a Python function has no instructions: these are its lines");
  } else if (options.assembly) {
    annotated.code = symbolizer::find_instructions(profile, annotation, &annotated.notes,
                                                   options.recording.sysroot);
  }
  print_paged(options.json ? reports::annotation_json(annotated)
                           : reports::annotation_page(annotated, page_options(options.table)),
              options.table);
  return 0;
}

}  // namespace

void add_annotate(CLI::App& app, Commands& commands) {
  CLI::App* const command =
      app.add_subcommand("annotate", "Show the lines of a function with the time spent on each");
  const auto options = std::make_shared<AnnotateOptions>();
  command
      ->add_option("FUNCTION", options->function,
                   "The function's name, with or without parameters and namespace, or a part of it")
      ->required();
  add_recording_options(*command, options->recording);
  add_shown_options(*command, options->recording.what, options->recording.selection);
  add_sysroot_option(*command, options->recording.sysroot);
  add_source_path_option(*command, options->source_paths);
  command
      ->add_option("--sources-below", options->sources_below,
                   "Show only sources in this directory and below it")
      ->type_name("DIR");
  command->add_flag("--asm", options->assembly, "Show instructions instead of the source");
  add_table_options(*command, options->table);
  command->add_flag("--json", options->json, "Print JSON, see docs/annotate-json.md");
  set_examples(*command, {"sampan annotate main", "sampan annotate --asm memcpy -2",
                          "sampan annotate --source-path /build/app=src parse"});
  commands.actions[command] = [options] { return annotate(*options); };
}

}  // namespace sampan::cli
