// sampan view: makes the page of a recording and opens it.
#include <fmt/format.h>
#include <signal.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/say.h"
#include "base/start_program.h"
#include "base/token_file.h"
#include "cli/command.h"
#include "cli/page_sources.h"
#include "cli/recorded_profile.h"
#include "cli/recording_options.h"
#include "cli/signals.h"
#include "cli/values.h"
#include "exporters/exporter.h"
#include "exporters/page_data.h"
#include "profile/view.h"
#include "remote/http/client.h"
#include "remote/http/server.h"

namespace sampan::cli {
namespace {

struct ViewOptions {
  RecordingOptions input;
  std::string output;
  bool with_source = false;
  std::vector<std::string> source_paths;
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

void show(const std::string& address) {
  const std::string problem = open_in_browser(address);
  if (!problem.empty()) {
    say("sampan: {}. Open the address above in a browser\n", problem);
  }
}

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  if (!file) throw Error("reading {}: {}", path, std::strerror(errno));
  return bytes;
}

std::string random_token() {
  std::array<unsigned char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw Error("serving the page: no random numbers: {}", std::strerror(errno));
  }
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

http::Response answer_with_page(std::string page) {
  http::Response response = http::answer("text/html; charset=utf-8", std::move(page));
  response.headers = {
      {"Referrer-Policy", "no-referrer"},
      {"Content-Security-Policy",
       "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
       "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"}};
  return response;
}

// The address contains 128 random bits, so other users of this machine and pages of other sites
// cannot request the page.
void serve(const ViewOptions& options, const std::string& path) {
  StopSignals stop;
  const std::string place = "/" + random_token() + "/";
  const http::Response page = answer_with_page(contents(path));
  const http::Listener listener("127.0.0.1", options.port);
  const http::Server server(listener, {}, http::refuse_writing,
                            [&](const http::Request& request, http::Reply reply) {
                              const bool found = same_token(place, request.path);
                              reply.send(found ? page : http::sentence(404, "Not Found"));
                            });
  const std::string url = "http://" + listener.authority() + place;
  fmt::print("{}\n", url);
  std::fflush(stdout);
  say("sampan: serving {} on this machine until Ctrl-C\n", path);
  if (!options.no_open) show(url);
  stop.wait();
}

// Returns the page's path.
std::string write_page(const ViewOptions& options) {
  profile::Profile profile = load_profile(options.input);
  const profile::View view = profile::select(profile, options.input.selection);
  std::string path =
      options.output.empty() ? options.input.directory() + "/profile.html" : options.output;
  const exporters::Format& format = exporters::format("html");
  const std::vector<symbolizer::SourceMapping> mappings =
      source_mappings(options.source_paths, options.input.sysroot);
  std::vector<std::string> problems;
  exporters::Outcome outcome;
  EmbeddedSources sources;
  {
    Progress progress;
    problems = find_names(profile, options.input.sysroot, progress);
    if (options.with_source) {
      progress.show("Reading sources and instructions");
      sources = hot_sources(view, mappings, options.input.sysroot);
    }
    progress.show("Writing the page");
    outcome = exporters::write_page(view, path, format.max_size, {.sources = sources.text});
  }
  if (options.with_source) {
    for (const std::string& note : sources.notes) say("sampan: {}\n", note);
    say("sampan: {}: with the source or the instructions of {} functions, {} kB of it\n", path,
        sources.functions, exporters::page_text(sources.text).size() / 1000);
  }
  print_without_symbols(problems);
  for (const std::string& note : outcome.notes) say("sampan: {}: {}\n", path, note);
  return path;
}

// The page of a `sampan serve`, which follows its process.
int view_served(const std::string& url, const ViewOptions& options) {
  if (options.serve || !options.output.empty()) {
    throw UsageError("view: {} is served already: without --serve and --output", url);
  }
  const long status = http::fetch({.url = url}).status;
  const std::string place = http::printable_url(url);
  if (status == 401) throw Error("{} needs a token: give it as {}/?token=TOKEN", place, place);
  if (status != 200) throw Error("{} has no page: it answers {}", place, status);
  fmt::print("{}\n", url);
  std::fflush(stdout);
  if (!options.no_open) show(url);
  return 0;
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
    if (!options.no_open) show(std::filesystem::absolute(path).string());
  }
  return 0;
}

}  // namespace

std::string open_in_browser(const std::string& address) {
  if (!has_display()) return "";
  try {
    start_program("xdg-open", {"xdg-open", address}, {});  // not waited for: it may be the browser
    return "";
  } catch (const Error& error) {
    return fmt::format("opening a browser: {}", error.what());
  }
}

void add_view(CLI::App& app, Commands& commands) {
  CLI::App* const command = app.add_subcommand(
      "view", "Show a recording in the browser, as one page that needs no network");
  const auto options = std::make_shared<ViewOptions>();
  add_recording_options(*command, options->input);
  add_shown_options(*command, options->input.what, options->input.selection);
  add_sysroot_option(*command, options->input.sysroot);
  CLI::Option* const recording = command->get_option("RECORDING");
  recording->description(recording->get_description() + ", or HOST:PORT of a sampan serve");
  command
      ->add_option("-o,--output", options->output,
                   "File of the page (default: profile.html beside the recording)")
      ->type_name("FILE");
  command->add_flag("--with-source", options->with_source,
                    "Embed the sources and instructions of hot functions: whoever has the page can "
                    "read them");
  add_source_path_option(*command, options->source_paths);
  command->add_flag("--no-open", options->no_open, "Only print the path of the page");
  CLI::Option* const serving = command->add_flag(
      "--serve", options->serve, "Serve the page on 127.0.0.1 until Ctrl-C, and print its address");
  command->add_option("--port", options->port, "Port (default: any free one)")
      ->type_name("PORT")
      ->needs(serving);
  set_examples(*command,
               {"sampan view", "sampan view --serve --with-source", "sampan view 127.0.0.1:8912"});
  commands.actions[command] = [options] {
    const std::string url = served_url(options->input.recording);
    return url.empty() ? view_recording(*options) : view_served(url, *options);
  };
}

}  // namespace sampan::cli
