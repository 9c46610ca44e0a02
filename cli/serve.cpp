// sampan serve PID | -- COMMAND | RECORDING
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/say.h"
#include "base/token_file.h"
#include "cli/command.h"
#include "cli/continuous_options.h"
#include "cli/latest_recording.h"
#include "cli/push_options.h"
#include "cli/recording_options.h"
#include "cli/run_options.h"
#include "cli/signals.h"
#include "remote/http/listener.h"
#include "remote/http/server.h"
#include "remote/live/capture.h"
#include "remote/live/dump.h"
#include "remote/serve/service.h"
#include "remote/serve/source.h"
#include "sampler/inspect/permission.h"
#include "sampler/process/own_limits.h"
#include "sampler/process/process_root.h"

namespace sampan::cli {
namespace {

struct ServeOptions {
  std::string target;  // a pid, a program's name, or a recording
  uint16_t port = 0;
  std::string bind = "127.0.0.1";
  std::string token_file;
  std::string certificate_file;
  std::string key_file;
  bool stay = false;
  SamplingOptions sampling = {.rate_hz = 100};
  sampler::WatchOptions watched;  // of a command
  ContinuousOptions continuous;
  std::string output = kUsualOutput;  // with --continuous
  std::string mode = kUsualMode;      // with --continuous
  PushOptions push;                   // with --continuous
  std::string engine = "auto";
  bool follow = true;
};

constexpr size_t kLongestPem = size_t{1} << 20;

std::string read_pem(const std::string& path, const char* option) {
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file) throw Error("{}: reading {}: {}", option, path, std::strerror(errno));
  if (text.size() > kLongestPem || text.find("-----BEGIN ") == text.npos) {
    throw Error("{}: {} is not a PEM file", option, path);
  }
  return text;
}

void add_serve_options(CLI::App& command, ServeOptions& options) {
  command.add_option("TARGET", options.target,
                     "A pid, the name of a process if it is unique, or a recording");
  command.add_option("--port", options.port, "Port (default: any free one, which is printed)")
      ->envname("SAMPAN_PORT")
      ->type_name("PORT");
  command
      .add_option("--bind", options.bind,
                  "Address to serve on; other than loopback addresses need --token-file")
      ->envname("SAMPAN_BIND")
      ->type_name("ADDRESS")
      ->capture_default_str();
  command
      .add_option("--token-file", options.token_file,
                  "File with the token that clients must send, as bearer token or as ?token=")
      ->envname("SAMPAN_TOKEN_FILE")
      ->type_name("FILE");
  command.add_option("--cert", options.certificate_file, "TLS: certificate, PEM")
      ->envname("SAMPAN_CERT")
      ->type_name("FILE");
  command.add_option("--key", options.key_file, "TLS: key of the certificate, PEM")
      ->envname("SAMPAN_KEY")
      ->type_name("FILE");
  command
      .add_flag("--stay", options.stay,
                "Serve the recording after the end of the process, until Ctrl-C")
      ->envname("SAMPAN_STAY");
  add_sampling_options(command, options.sampling);
  add_watch_options(command, options.watched);
  add_continuous_options(command, options.continuous);
  command.add_option("-o,--output", options.output, "With --continuous: directory for recordings")
      ->envname("SAMPAN_OUTPUT")
      ->type_name("DIR")
      ->capture_default_str();
  add_mode_option(command, options.mode);
  add_push_options(command, options.push);
  add_engine_option(command, options.engine, "How a running process is sampled");
  command
      .add_flag("--follow,!--no-follow", options.follow,
                "Profile child processes, too (default: for commands)")
      ->envname("SAMPAN_FOLLOW");
}

// How to capture the process `running`, or `program` if it is not empty. Throws UsageError.
live::CaptureOptions capture_options(const CLI::App& command, const ServeOptions& options,
                                     const std::vector<std::string>& program,
                                     std::optional<pid_t> running = {}) {
  if (options.push.wanted()) {
    if (!options.continuous.continuous) {
      throw UsageError("serve: --push needs --continuous, whose segments are pushed");
    }
    push_options(options.push, -1);
  }
  segment_options(options.continuous, "");
  rate_options(options.sampling, true);
  live::CaptureOptions capture;
  capture.detached_streams = program.empty();
  live::RecorderConfig& recorder = capture.recorder;
  recorder.command = program;
  recorder.pid = running.value_or(0);
  recorder.rate_hz = options.sampling.rate_hz;
  recorder.clock = options.sampling.clock;
  recorder.max_overhead = options.sampling.max_overhead;
  recorder.engine = options.engine;
  recorder.watched = options.watched;
  const bool asked = command.get_option("--follow")->count() > 0;
  recorder.follow = asked ? options.follow : !program.empty();
  if (options.continuous.continuous) {
    capture.kept_in = options.output;
    file_mode(options.mode);
    recorder.mode = options.mode;
    const ContinuousOptions& continuous = options.continuous;
    recorder.rotate = continuous.rotate.empty() ? kUsualRotate : continuous.rotate;
    recorder.keep = continuous.keep.empty() ? kUsualKeep : continuous.keep;
    const PushOptions& push = options.push;
    recorder.push = {push.url,        push.format,  push.spool,  push.spool_size,
                     push.token_file, push.ca_file, push.labels, push.headers};
  }
  return capture;
}

// Reads both files, if they are given. Throws UsageError if only one is given, Error if one cannot
// be read.
http::Certificate read_certificate(const ServeOptions& options) {
  if (options.certificate_file.empty() != options.key_file.empty()) {
    throw UsageError("serve: --cert and --key must be given together");
  }
  if (options.certificate_file.empty()) return {};
  return {read_pem(options.certificate_file, "--cert"), read_pem(options.key_file, "--key")};
}

constexpr int kLookMs = 200;  // the delay until the end of the process is noticed

// Commands to paste; the shell puts the token in. A recording has no profile of the next seconds.
void say_what_to_paste(const std::string& url, const std::string& token_file, bool is_live) {
  const bool open = token_file.empty();
  const std::string token = open ? "" : fmt::format("token=$(cat {})", token_file);
  const std::string query = open ? "" : "?" + token;
  say("sampan: serving until Ctrl-C:\n"
      "  the page      xdg-open \"{0}/{1}\"\n"
      "  pprof         go tool pprof -http=: \"{0}/debug/pprof/profile{2}\"\n"
      "  Prometheus    curl \"{0}/metrics{1}\"\n"
      "  the terminal  sampan top {3}{0}\n",
      url, query,
      !is_live ? query
      : open   ? "?seconds=10"
               : "?seconds=10&" + token,
      open ? "" : fmt::format("--token-file {} ", token_file));
}

http::Listener listen(const ServeOptions& options, const http::Certificate& certificate,
                      bool is_live) {
  http::Listener listener(options.bind, options.port);
  if (!listener.is_loopback() && options.token_file.empty()) {
    throw UsageError("serve: {} can be reached from other machines: --token-file is required",
                     options.bind);
  }
  const bool encrypted = !certificate.certificate.empty();
  const std::string url = (encrypted ? "https://" : "http://") + listener.authority();
  fmt::print("{}/\n", url);
  std::fflush(stdout);
  say_what_to_paste(url, options.token_file, is_live);
  if (!listener.is_loopback() && !encrypted) {
    say("sampan: the token and the answers are not encrypted: use --cert and --key\n");
  }
  return listener;
}

serve::ServiceOptions service_options(const ServeOptions& options,
                                      const http::Certificate& certificate) {
  serve::ServiceOptions service{.certificate = certificate};
  if (!options.token_file.empty()) {
    service.token = read_token(options.token_file, "--token-file");
  }
  service.names = symbolizer::environment_options();
  return service;
}

int serve_recording(const ServeOptions& options) {
  const http::Certificate certificate = read_certificate(options);
  const serve::ServiceOptions service = service_options(options, certificate);
  serve::RecordedSource source(recording_path(options.target));
  StopSignals stop;
  const sampler::OwnLimits limits;
  const http::Listener listener = listen(options, certificate, false);
  const serve::Service served(listener, source, service);
  stop.wait();
  return 0;
}

// The current threads of the process that was captured first.
std::string dump_of(serve::LiveSource& source) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  const SessionNs now_ns = source.now_ns();
  const recording::Recording recording = source.read(now_ns, now_ns);
  if (recording.processes.empty()) throw Error("the process has not started yet");
  return live::dump_as_json(live::take_dump(recording.processes.front().pid, {}));
}

int serve_process(const CLI::App& command, const ServeOptions& options,
                  const std::vector<std::string>& program) {
  capture_options(command, options, program);  // checks the options before anything starts
  const http::Certificate certificate = read_certificate(options);
  serve::ServiceOptions service = service_options(options, certificate);
  std::optional<pid_t> running;
  if (program.empty()) running = sampler::find_process(options.target);
  if (running) service.names.sysroot = sampler::root_in_other_mounts(*running);
  const http::Listener listener = listen(options, certificate, true);
  serve::LiveSource source(capture_options(command, options, program, running), running);
  if (options.continuous.continuous) {
    say("sampan: recording into {}\n", source.directory());
  }
  StopSignals stop;  // after the recorder started, which would inherit blocked signals
  const sampler::OwnLimits limits;
  service.dump = [&source] { return dump_of(source); };
  const serve::Service served(listener, source, service);
  while (!source.over()) {
    if (stop.wait(kLookMs)) return source.finish();
  }
  if (options.stay) {
    say("sampan: the process has ended; its recording is served until Ctrl-C\n");
    stop.wait();
  }
  return source.finish();
}

int serve(const CLI::App& command, const ServeOptions& options,
          const std::vector<std::string>& program) {
  if (options.watched.any() && program.empty()) {
    throw UsageError(
        "serve: --heap and --locks need a command: sampan serve --heap -- COMMAND. The allocations "
        "and "
        "locks of a process that already runs are not known");
  }
  if (program.empty() == options.target.empty()) {
    throw UsageError("serve: needs either a process, or a recording, or -- COMMAND");
  }
  if (program.empty() && std::filesystem::exists(recording_path(options.target))) {
    return serve_recording(options);
  }
  return serve_process(command, options, program);
}

}  // namespace

void add_serve(CLI::App& app, Commands& commands) {
  CLI::App* const command = app.add_subcommand(
      "serve", "Serve a running process over HTTP: the page, pprof, Prometheus metrics");
  set_examples(*command,
               {"sampan serve --port 8080 PID", "sampan serve --stay -- ./program its arguments",
                "sampan serve --continuous --keep 2d -- redis-server"},
               "sampan serve [OPTIONS] TARGET | -- COMMAND [ARG...]");
  const auto options = std::make_shared<ServeOptions>();
  add_serve_options(*command, *options);
  commands.actions[command] = [command, options, &commands] {
    options->target = named_recording(options->target);
    return serve(*command, *options, commands.program);
  };
}

}  // namespace sampan::cli
