// sampan view: the page of a recording, made and opened.
#include <fmt/core.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "base/error.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "cli/recorded_profile.h"
#include "cli/recording_options.h"
#include "cli/serve_page.h"
#include "cli/stop_signals.h"
#include "exporters/exporter.h"
#include "profile/view.h"

namespace sampan::cli {
namespace {

struct ViewOptions {
  RecordingOptions input;
  std::string output;
  bool no_open = false;
  bool serve = false;
  uint16_t port = 0;
};

bool has_display() {
  for (const char* const variable : {"DISPLAY", "WAYLAND_DISPLAY"}) {
    const char* const value = std::getenv(variable);
    if (value != nullptr && *value != '\0') return true;
  }
  return false;
}

// In the person's browser, which lives on when this program has ended.
void open_in_browser(const std::string& address) {
  if (!has_display()) return;
  std::string program = "xdg-open", argument = address;
  char* arguments[] = {program.data(), argument.data(), nullptr};
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, program.c_str(), nullptr, nullptr, arguments, environ);
  if (error != 0) {
    fmt::print(stderr, "sampan: opening a browser: xdg-open: {}. Open the address above in one\n",
               std::strerror(error));
  }
}

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  if (!file) throw Error("reading {}: {}", path, std::strerror(errno));
  return bytes;
}

void serve(const ViewOptions& options, const std::string& path) {
  StopSignals stop;
  PageServer server(contents(path), options.port);
  fmt::print("{}\n", server.url());
  std::fflush(stdout);
  fmt::print(stderr, "sampan: serving {} on this machine until Ctrl-C\n", path);
  if (!options.no_open) open_in_browser(server.url());
  server.run(stop.fd());
  stop.take();
}

// The page's path.
std::string write_page(const ViewOptions& options) {
  profile::Profile profile = profile::load(read_recording(options.input.path()));
  const profile::View view = profile::select(profile, options.input.selection);
  const std::string path =
      options.output.empty() ? options.input.directory() + "/profile.html" : options.output;
  const exporters::Format& format = exporters::format("html");
  std::vector<std::string> problems;
  exporters::Outcome outcome;
  {
    Progress progress;
    problems = find_names(profile, progress);
    progress.show("Writing the page");
    outcome = format.write(view, path, format.max_size);
  }
  print_without_symbols(problems);
  for (const std::string& note : outcome.notes) fmt::print(stderr, "sampan: {}: {}\n", path, note);
  return path;
}

int view_recording(const ViewOptions& options) {
  if (options.serve && options.output == "-") {
    throw UsageError("view: --serve needs a file: --output FILE");
  }
  const std::string path = write_page(options);
  if (options.serve) {
    serve(options, path);
  } else if (path != "-") {
    fmt::print("{}\n", path);
    std::fflush(stdout);
    if (!options.no_open) open_in_browser(std::filesystem::absolute(path).string());
  }
  return 0;
}

}  // namespace

void add_view(CLI::App& app, Commands& commands) {
  CLI::App* const command =
      app.add_subcommand("view", "Show a recording in the browser: one page, without a network");
  const auto options = std::make_shared<ViewOptions>();
  add_recording_options(*command, options->input);
  command
      ->add_option("--output", options->output,
                   "The page's file (default: profile.html beside the recording)")
      ->type_name("FILE");
  command->add_flag("--no-open", options->no_open, "Only print where the page is");
  CLI::Option* const serving =
      command->add_flag("--serve", options->serve,
                        "Serve the page on 127.0.0.1, until Ctrl-C, and print its address");
  command->add_option("--port", options->port, "Port to serve on (default: any)")
      ->type_name("PORT")
      ->needs(serving);
  commands.actions[command] = [options] { return view_recording(*options); };
}

}  // namespace sampan::cli
