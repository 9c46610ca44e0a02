#include "cli/push_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "cli/command.h"
#include "cli/continuous_options.h"
#include "http/client.h"
#include "sampler/control_token.h"
#include "symbolizer/jit_names.h"
#include "symbolizer/name_cache.h"

namespace sampan::cli {
namespace {

bool is_set(const char* value) {
  return value != nullptr && *value != '\0';
}

std::string usual_spool() {
  const char* const state = std::getenv("XDG_STATE_HOME");
  const char* const home = std::getenv("HOME");
  if (is_set(state)) return std::string(state) + "/sampan/spool";
  if (is_set(home)) return std::string(home) + "/.local/state/sampan/spool";
  throw UsageError("--spool: name a directory for what has not arrived yet: there is no home");
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

push::Labels labels_of(const PushOptions& options, pid_t process) {
  push::Labels labels;
  for (const std::string& label : options.labels) push::add_label("--label", label, &labels);
  labels.add(push::environment_labels([](const char* name) { return std::getenv(name); }));
  if (process >= 0) {
    const std::string place = process == 0 ? "/proc/self/" : fmt::format("/proc/{}/", process);
    labels.add("container.id",
               push::container_id(text_of(place + "cgroup"), text_of(place + "mountinfo")));
  }
  return labels;
}

void check_headers(const PushOptions& options) {
  for (const std::string& header : options.headers) {
    const size_t colon = header.find(':');
    if (colon == header.npos || colon == 0 || header.find_first_of("\r\n") != header.npos) {
      throw UsageError("{}header: give it a name and a value, as 'X-Scope-OrgID: team'",
                       options.prefix);
    }
  }
}

symbolizer::Options names() {
  symbolizer::Options names;
  names.jobs = 1;  // the CPU is the program's
  names.debug_server = symbolizer::DebugServer::of_environment();
  names.jit_directories = symbolizer::default_jit_directories();
  names.cache_directory = symbolizer::default_cache_directory();
  return names;
}

}  // namespace

void add_push_options(CLI::App& command, PushOptions& options) {
  const std::string& prefix = options.prefix;
  const bool is_command = prefix == "--";
  command
      .add_option(
          is_command ? "--to" : "--push", options.url,
          is_command ? "The store's address" : "Push what is recorded to the store at this address")
      ->envname("SAMPAN_PUSH")
      ->type_name("URL");
  command
      .add_option(prefix + "format", options.format,
                  "What the store takes (default: what the address's path says)")
      ->envname("SAMPAN_PUSH_FORMAT")
      ->type_name("pyroscope|ingest|otlp")
      ->check(CLI::IsMember(push::format_names()).description(""));
  command
      .add_option("--label", options.labels,
                  "Where the profiles are from, as team=search "
                  "(repeatable)")
      ->type_name("K=V")
      ->allow_extra_args(false);
  command
      .add_option("--spool", options.spool,
                  "Where what has not arrived yet is kept (default: ~/.local/state/sampan/spool)")
      ->envname("SAMPAN_SPOOL")
      ->type_name("DIR");
  command
      .add_option("--spool-size", options.spool_size,
                  "How much of it; the oldest is dropped beyond that")
      ->envname("SAMPAN_SPOOL_SIZE")
      ->type_name("SIZE")
      ->capture_default_str();
  command
      .add_option(prefix + "token-file", options.token_file,
                  "The store wants to know what is in this file, as bearer")
      ->envname("SAMPAN_PUSH_TOKEN_FILE")
      ->type_name("FILE");
  command
      .add_option(prefix + "header", options.headers,
                  "Send this too, as 'X-Scope-OrgID: team' (repeatable)")
      ->envname("SAMPAN_PUSH_HEADER")
      ->type_name("K: V")
      ->allow_extra_args(false);
  command
      .add_option(prefix + "cacert", options.ca_file,
                  "TLS: who the store's certificate may be signed by, PEM (default: as curl's)")
      ->envname("SAMPAN_PUSH_CACERT")
      ->type_name("FILE");
}

push::PushOptions push_options(const PushOptions& options, pid_t process) {
  push::PushOptions result;
  const bool is_command = options.prefix == "--";
  try {
    result.send.destination =
        push::destination(is_command ? "--to" : "--push", options.url, options.format);
    result.labels = labels_of(options, process);
  } catch (const UsageError&) {
    throw;
  } catch (const Error& error) {
    throw UsageError("{}", error.what());
  }
  const sampler::Limit size = parse_limit("--spool-size", options.spool_size);
  if (size.bytes == 0) throw UsageError("--spool-size {}: a size, as 256M", options.spool_size);
  check_headers(options);
  const std::string token_option = options.prefix + "token-file";
  if (!options.token_file.empty()) sampler::read_token(options.token_file, token_option);
  result.send.access = {options.token_file, token_option, options.headers, options.ca_file};
  result.send.spool_bytes = size.bytes;
  result.send.names = names();
  result.send.say = [](const std::string& text) { fmt::print(stderr, "sampan: push: {}\n", text); };
  result.spool = options.spool.empty() ? usual_spool() : options.spool;
  return result;
}

std::vector<std::string> as_words(const PushOptions& options) {
  if (!options.wanted()) return {};
  std::vector<std::string> words = {"--push", options.url, "--spool-size", options.spool_size};
  const auto add = [&words](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  add("--push-format", options.format);
  add("--spool", options.spool);
  add("--push-token-file", options.token_file);
  add("--push-cacert", options.ca_file);
  for (const std::string& label : options.labels) add("--label", label);
  // What came by the environment, as secrets do, is in the other's, and on no command line.
  if (std::getenv("SAMPAN_PUSH_HEADER") == nullptr) {
    for (const std::string& header : options.headers) add("--push-header", header);
  }
  return words;
}

void say_pushed(const push::Summary& summary, const PushOptions& options,
                const std::string& directory, bool quiet) {
  const push::Counts& counts = summary.counts;
  const bool all = counts.refused == 0 && counts.dropped == 0 && summary.left.items == 0;
  if (quiet && all) return;
  std::string text = fmt::format("{} {} sent to {}", counts.sent,
                                 counts.sent == 1 ? "piece" : "pieces", http::shown(options.url));
  if (counts.refused != 0) {
    text += fmt::format("; {} refused, in {}/refused", counts.refused, directory);
  }
  if (counts.dropped != 0) text += fmt::format("; {} dropped", counts.dropped);
  if (summary.left.items != 0) {
    text +=
        fmt::format("; {} left, {:.1f} MB, in {}: the next sampan that pushes there sends them",
                    summary.left.items, static_cast<double>(summary.left.bytes) / 1e6, directory);
  }
  fmt::print(stderr, "sampan: push: {}\n", text);
}

}  // namespace sampan::cli
