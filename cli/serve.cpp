// sampan serve PID | -- COMMAND | RECORDING
#include <fmt/core.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <mutex>

#include "attach/permission.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/dump.h"
#include "cli/recording_options.h"
#include "cli/serve_options.h"
#include "cli/stop_signals.h"
#include "http/listener.h"
#include "sampler/control_token.h"
#include "sampler/descriptor_limit.h"
#include "serve/service.h"
#include "serve/sources.h"
#include "symbolizer/jit_names.h"
#include "symbolizer/name_cache.h"

namespace sampan::cli {
namespace {

constexpr int kLookMs = 200;  // how soon the end of the process is seen

http::Listener listen(const ServeOptions& options, const http::Certificate& certificate) {
  http::Listener listener(options.bind, options.port);
  if (!listener.is_loopback() && options.token_file.empty()) {
    throw UsageError(
        "serve: {} can be reached from other machines: name a file with a secret by --token-file",
        options.bind);
  }
  const bool encrypted = !certificate.certificate.empty();
  fmt::print("{}://{}/\n", encrypted ? "https" : "http", listener.authority());
  std::fflush(stdout);
  if (!listener.is_loopback() && !encrypted) {
    fmt::print(stderr, "sampan: the token and the answers travel as they are: --cert and --key\n");
  }
  return listener;
}

serve::ServiceOptions service_options(const ServeOptions& options,
                                      const http::Certificate& certificate) {
  serve::ServiceOptions service{.certificate = certificate};
  if (!options.token_file.empty()) {
    service.token = sampler::read_token(options.token_file, "--token-file");
  }
  service.names.debug_server = symbolizer::DebugServer::of_environment();
  service.names.jit_directories = symbolizer::default_jit_directories();
  service.names.cache_directory = symbolizer::default_cache_directory();
  return service;
}

int serve_recording(const ServeOptions& options) {
  const http::Certificate certificate = read_certificate(options);
  const serve::ServiceOptions service = service_options(options, certificate);
  serve::RecordedSource source(recording_path(options.target));
  StopSignals stop;
  sampler::raise_descriptor_limit();
  const http::Listener listener = listen(options, certificate);
  const serve::Service served(listener, source, service);
  stop.wait();
  return 0;
}

// The process that was captured first, as it is now.
std::string dump_of(serve::LiveSource& source) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  const uint64_t now_ns = source.now_ns();
  const recording::Recording recording = source.read(now_ns, now_ns);
  if (recording.processes.empty()) throw Error("the process has not begun yet");
  return dump_as_json(take_dump(recording.processes.front().pid, {}));
}

int serve_process(const CLI::App& command, ServeOptions options,
                  const std::vector<std::string>& program) {
  capture_options(command, options, program);  // what is wrong is said before anything begins
  const http::Certificate certificate = read_certificate(options);
  serve::ServiceOptions service = service_options(options, certificate);
  std::optional<pid_t> running;
  if (program.empty()) {
    running = attach::find_process(options.target);
    options.target = std::to_string(*running);
  }
  const http::Listener listener = listen(options, certificate);
  serve::LiveSource source(capture_options(command, options, program), running);
  if (options.continuous.continuous) {
    fmt::print(stderr, "sampan: recording into {}\n", source.directory());
  }
  StopSignals stop;  // only now: the recorder would inherit what is blocked
  sampler::raise_descriptor_limit();
  service.dump = [&source] { return dump_of(source); };
  const serve::Service served(listener, source, service);
  while (!source.over()) {
    if (stop.wait(kLookMs)) return source.finish();
  }
  if (options.stay) {
    fmt::print(stderr, "sampan: the process has ended; what was recorded is served until Ctrl-C\n");
    stop.wait();
  }
  return source.finish();
}

int serve(const CLI::App& command, const ServeOptions& options,
          const std::vector<std::string>& program) {
  if (program.empty() == options.target.empty()) {
    throw UsageError("serve: either a process, or a recording, or -- COMMAND");
  }
  if (program.empty() && std::filesystem::exists(recording_path(options.target))) {
    return serve_recording(options);
  }
  return serve_process(command, options, program);
}

}  // namespace

void add_serve(CLI::App& app, Commands& commands) {
  CLI::App* const command = app.add_subcommand(
      "serve", "Answer over HTTP: the page, pprof, Prometheus, of a process while it runs");
  command->footer("sampan serve [OPTIONS] TARGET | -- COMMAND [ARG...]");
  const auto options = std::make_shared<ServeOptions>();
  add_serve_options(*command, *options);
  commands.actions[command] = [command, options, &commands] {
    return serve(*command, *options, commands.program);
  };
}

}  // namespace sampan::cli
