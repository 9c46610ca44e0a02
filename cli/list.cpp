// sampan list: the recordings of a directory.
#include <fmt/core.h>

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "base/say.h"
#include "cli/command.h"
#include "cli/latest_recording.h"

namespace sampan::cli {
namespace {

uint64_t size_of(const std::string& directory) {
  uint64_t bytes = 0;
  std::error_code gone;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory, gone)) {
    std::error_code none;
    const uintmax_t size = entry.is_regular_file(none) ? entry.file_size(none) : 0;
    bytes += none ? 0 : size;
  }
  return bytes;
}

int list(const std::string& output) {
  const std::vector<std::string> directories = latest_recordings(output);
  if (directories.empty()) {
    say("sampan: no recordings in {}: make one by sampan run\n",
        output.empty() ? kUsualOutput : output);
  }
  size_t place = 0;
  for (const std::string& directory : directories) {
    const auto kilobytes = static_cast<double>(size_of(directory)) / 1e3;
    const std::string size = kilobytes < 1000 ? fmt::format("{:.0f} KB", kilobytes)
                                              : fmt::format("{:.1f} MB", kilobytes / 1000);
    fmt::print("{:>4}  {:>12}  {}\n", fmt::format("-{}", ++place), size, directory);
  }
  return 0;
}

}  // namespace

void add_list(CLI::App& app, Commands& commands) {
  CLI::App* const command =
      app.add_subcommand("list", "List recordings, the latest first, as other commands name them");
  const auto output = std::make_shared<std::string>();
  command->add_option("DIR", *output,
                      "Where they are (default: sampan-profiles, or SAMPAN_OUTPUT)");
  set_examples(*command,
               {"sampan list", "sampan list runs", "sampan list /srv/app/sampan-profiles"});
  commands.actions[command] = [output] { return list(*output); };
}

}  // namespace sampan::cli
