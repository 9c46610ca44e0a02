// sampan import: makes a recording of a profile that another program wrote.
#include <fmt/core.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/say.h"
#include "base/text/readable.h"
#include "cli/command.h"
#include "cli/latest_recording.h"
#include "cli/record.h"
#include "cli/recorded_profile.h"
#include "cli/values.h"
#include "importers/importer.h"
#include "profile/load.h"
#include "profile/unit.h"
#include "profile/weights.h"
#include "recording/complete_file.h"

namespace sampan::cli {
namespace {

struct ImportOptions {
  std::string file;
  std::string output = kUsualOutput;
  std::string format;
  importers::Options of_format;
};

// The name of the directory: "perf.data" for "/tmp/perf.data", "cpu" for "cpu.pb.gz".
std::string stem_of(const std::string& file) {
  std::string name = std::filesystem::path(file).filename();
  for (const std::string_view suffix : {".gz", ".zst", ".pb", ".txt", ".folded", ".cpuprofile"}) {
    if (name.size() > suffix.size() && name.ends_with(suffix)) {
      name.erase(name.size() - suffix.size());
    }
  }
  return name;
}

int import(const ImportOptions& options) {
  recording::Recording recording =
      importers::import_file(options.file, options.format, options.of_format);
  recording.session.sampan_version = SAMPAN_VERSION;
  if (recording.session.command.empty()) {
    recording.session.command = {"sampan", "import", options.file};
  }
  constexpr mode_t kPrivate = 0600;  // as recordings are
  OutputDirectory directory(options.output, stem_of(options.file), kPrivate);
  try {
    recording::write(recording, directory.recording());
    const std::string engine = recording.session.engine;
    profile::Profile profile = profile::load(std::move(recording));
    print_without_symbols(find_names(profile));
    record_names(directory.recording(), profile);
    const profile::Weight all = profile::total_weight(profile::select(profile));
    const profile::Unit unit(profile.session, all.ns);
    say("sampan: {}: {}, {}{}\n", engine, plural(all.samples, "sample"), unit.amount(all.ns),
        profile.has_waits() ? " of CPU and waiting"
        : unit.is_time()    ? " of CPU"
                            : "");
  } catch (...) {
    directory.remove();
    throw;
  }
  fmt::print("{}\n", directory.path());
  return 0;
}

std::string formats_text() {
  std::string text;
  for (const importers::Importer& each : importers::importers()) {
    text += (text.empty() ? "" : ", ") + std::string(each.name);
  }
  return text;
}

}  // namespace

void add_import(CLI::App& app, Commands& commands) {
  CLI::App* const command = app.add_subcommand(
      "import",
      "Make a recording of a profile of another program: perf.data, pprof, gperftools, V8");
  const auto options = std::make_shared<ImportOptions>();
  command->add_option("FILE", options->file, "The profile; it may be compressed by gzip or zstd")
      ->required();
  command
      ->add_option("-o,--output", options->output,
                   "Where to make a directory for the recording (default: sampan-profiles)")
      ->type_name("DIR")
      ->envname("SAMPAN_OUTPUT");
  command
      ->add_option("--as", options->format,
                   fmt::format("{} (default: what the file looks like)", formats_text()))
      ->type_name("FORMAT");
  command
      ->add_option(
          "--weight", options->of_format.weight,
          "Which of the file's values or events: alloc_space, cycles (default: the usual one)")
      ->type_name("NAME");
  command
      ->add_option_function<std::string>(
          "-F,--rate",
          [options](const std::string& text) {
            options->of_format.rate_hz = rate_value("--rate", text);
          },
          "How many samples were taken per second, if the file does not say it: counts become time")
      ->type_name("HZ");
  set_examples(*command, {"sampan import perf.data", "sampan import --weight alloc_space heap.prof",
                          "sampan import --rate 99 stacks.folded -o imported"});
  commands.actions[command] = [options] { return import(*options); };
}

}  // namespace sampan::cli
