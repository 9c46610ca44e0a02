#include "cli/serve_options.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "cli/command.h"

namespace sampan::cli {
namespace {

constexpr size_t kLongestPem = size_t{1} << 20;

std::string read_pem(const std::string& path, const char* option) {
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file) throw Error("{}: reading {}: {}", option, path, std::strerror(errno));
  if (text.size() > kLongestPem || text.find("-----BEGIN ") == text.npos) {
    throw Error("{}: {} is no PEM file", option, path);
  }
  return text;
}

}  // namespace

void add_serve_options(CLI::App& command, ServeOptions& options) {
  command.add_option("TARGET", options.target,
                     "A process, or the name of the only one that has it; or a recording");
  command.add_option("--port", options.port, "Port to serve on (default: any, and it is printed)")
      ->envname("SAMPAN_PORT")
      ->type_name("PORT");
  command
      .add_option("--bind", options.bind,
                  "Address to serve on; another than this machine's own asks for --token-file")
      ->envname("SAMPAN_BIND")
      ->type_name("ADDRESS")
      ->capture_default_str();
  command
      .add_option("--token-file", options.token_file,
                  "Who asks has to know what is in this file, as bearer or as ?token=")
      ->envname("SAMPAN_TOKEN_FILE")
      ->type_name("FILE");
  command.add_option("--cert", options.certificate_file, "TLS: the certificate, PEM")
      ->envname("SAMPAN_CERT")
      ->type_name("FILE");
  command.add_option("--key", options.key_file, "TLS: its key, PEM")
      ->envname("SAMPAN_KEY")
      ->type_name("FILE");
  command
      .add_flag("--stay", options.stay,
                "Serve what was recorded when the process has ended, until "
                "Ctrl-C")
      ->envname("SAMPAN_STAY");
  add_sampling_options(command, options.sampling);
  add_continuous_options(command, options.continuous);
  command
      .add_option("--output", options.output,
                  "With --continuous: where each run's directory is made")
      ->envname("SAMPAN_OUTPUT")
      ->type_name("DIR")
      ->capture_default_str();
  add_push_options(command, options.push);
  command
      .add_option("--engine", options.engine, "Of a process that runs already: how it is sampled")
      ->envname("SAMPAN_ENGINE")
      ->type_name("perf|ptrace|poll|auto")
      ->check(CLI::IsMember({"perf", "ptrace", "poll", "auto"}).description(""));
  command
      .add_flag("--follow,!--no-follow", options.follow,
                "Profile its children too (default: those of a command)")
      ->envname("SAMPAN_FOLLOW");
}

live::CaptureOptions capture_options(const CLI::App& command, const ServeOptions& options,
                                     const std::vector<std::string>& program) {
  if (options.push.wanted()) {
    if (!options.continuous.continuous) {
      throw UsageError("serve: what is pushed are the segments of --continuous");
    }
    push_options(options.push, -1);
  }
  segment_options(options.continuous, "");
  rate_options(options.sampling, true);
  live::CaptureOptions capture;
  capture.detached_streams = program.empty();
  std::vector<std::string>& words = capture.arguments;
  words = as_words(options.sampling);
  words.insert(words.begin(), program.empty() ? "attach" : "run");
  if (options.continuous.continuous) {
    capture.kept_in = options.output;
    words.insert(
        words.end(),
        {"--rotate", options.continuous.rotate.empty() ? kUsualRotate : options.continuous.rotate,
         "--keep", options.continuous.keep.empty() ? kUsualKeep : options.continuous.keep});
    const std::vector<std::string> push = as_words(options.push);
    words.insert(words.end(), push.begin(), push.end());
  }
  if (command.get_option("--follow")->count() > 0) {
    words.emplace_back(options.follow ? "--follow" : "--no-follow");
  }
  if (program.empty()) {
    words.insert(words.end(), {"--engine", options.engine, options.target});
  } else {
    words.emplace_back("--");
    words.insert(words.end(), program.begin(), program.end());
  }
  return capture;
}

http::Certificate read_certificate(const ServeOptions& options) {
  if (options.certificate_file.empty() != options.key_file.empty()) {
    throw UsageError("serve: --cert and --key belong together");
  }
  if (options.certificate_file.empty()) return {};
  return {read_pem(options.certificate_file, "--cert"), read_pem(options.key_file, "--key")};
}

}  // namespace sampan::cli
