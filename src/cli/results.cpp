#include "cli/results.h"

#include <fmt/core.h>

#include <cstdio>

#include "cli/progress.h"
#include "profile/view.h"
#include "recording/reader.h"
#include "symbolizer/symbolizer.h"

namespace sampan::cli {
namespace {

symbolizer::Report give_names(profile::Profile& profile, Progress& progress) {
  symbolizer::Options options;
  options.progress = [&progress](size_t done, size_t all) {
    progress.show("Finding function names", done, all);
  };
  return symbolizer::symbolize(profile, options);
}

}  // namespace

void write_results(const std::string& directory, const ResultOptions& options) {
  if (options.formats.empty() && !options.page) return;
  profile::Profile profile = profile::load(recording::read(directory + "/recording.sampan"));
  Progress progress;
  give_names(profile, progress);
  progress.show("Writing the files");
  exporters::write_all(profile::select(profile), options.formats, directory, true);
}

}  // namespace sampan::cli
