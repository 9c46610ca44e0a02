#include "cli/push_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/say.h"
#include "base/session.h"
#include "base/text/quantity.h"
#include "base/token_file.h"
#include "cli/command.h"
#include "remote/http/client.h"

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
  throw UsageError("--spool: needed for what was not sent yet, because there is no home directory");
}

const char* environment(const char* name) {
  return std::getenv(name);
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

push::Labels labels_of(const PushOptions& options, pid_t process) {
  push::Labels labels = chosen_labels(options);
  labels.add(push::environment_labels(environment));
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
      throw UsageError("{}header: needs a name and a value, such as 'X-Scope-OrgID: team'",
                       options.prefix);
    }
  }
}

}  // namespace

void add_push_options(CLI::App& command, PushOptions& options) {
  const std::string& prefix = options.prefix;
  const bool is_command = prefix == "--";
  command
      .add_option(
          is_command ? "--to" : "--push", options.url,
          is_command ? "Address of the store" : "Push the recording to the store at this address")
      ->envname("SAMPAN_PUSH")
      ->type_name("URL");
  command
      .add_option((is_command ? "-f," : "") + prefix + "format", options.format,
                  "The store's format (default: by the path of the address)")
      ->envname("SAMPAN_PUSH_FORMAT")
      ->type_name("pyroscope|ingest|otlp")
      ->check(CLI::IsMember(push::format_names()).description(""));
  command
      .add_option("--label", options.labels,
                  "A label of the recording, such as team=search or rank=FROM_ENV (repeatable)")
      ->type_name("K=V")
      ->allow_extra_args(false);
  command
      .add_option("--spool", options.spool,
                  "Directory for what was not sent yet (default: ~/.local/state/sampan/spool)")
      ->envname("SAMPAN_SPOOL")
      ->type_name("DIR");
  command
      .add_option("--spool-size", options.spool_size,
                  "Maximum size of the spool; the oldest pieces beyond it are dropped")
      ->envname("SAMPAN_SPOOL_SIZE")
      ->type_name("SIZE")
      ->capture_default_str();
  command
      .add_option(prefix + "token-file", options.token_file,
                  "File with the bearer token for the store")
      ->envname("SAMPAN_PUSH_TOKEN_FILE")
      ->type_name("FILE");
  command
      .add_option(prefix + "header", options.headers,
                  "An additional header, such as 'X-Scope-OrgID: team' (repeatable)")
      ->envname("SAMPAN_PUSH_HEADER")
      ->type_name("K: V")
      ->allow_extra_args(false);
  command
      .add_option(prefix + "cacert", options.ca_file,
                  "TLS: CA certificates for the store, PEM (default: curl's)")
      ->envname("SAMPAN_PUSH_CACERT")
      ->type_name("FILE");
}

push::Labels chosen_labels(const PushOptions& options) {
  push::Labels labels;
  try {
    for (const std::string& label : options.labels) {
      push::add_label("--label", label, environment, &labels);
    }
  } catch (const Error& error) {
    throw UsageError("{}", error.what());
  }
  return labels;
}

push::Labels recorded_labels(const PushOptions& options) {
  push::Labels labels = chosen_labels(options);
  try {
    labels.add(push::environment_labels(environment));
  } catch (const Error& error) {
    say("sampan: the recording has no labels of the environment: {}\n", error.what());
  }
  return labels;
}

std::string job_suffix() {
  vocabulary::Session session;
  session.labels = push::job_labels(environment).pairs();
  const std::string name = session.worker_name();
  return name.empty() ? "" : "-" + name;
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
  const uint64_t size = parse_size(options.spool_size).value_or(0);
  if (size == 0) {
    throw UsageError("--spool-size takes a size such as 256M or 2G, not '{}'", options.spool_size);
  }
  check_headers(options);
  const std::string token_option = options.prefix + "token-file";
  if (!options.token_file.empty()) read_token(options.token_file, token_option);
  result.send.access = {options.token_file, token_option, options.headers, options.ca_file};
  result.send.spool_bytes = size;
  result.send.names = symbolizer::environment_options();
  result.send.names.jobs = 1;  // leaves the CPUs to the program
  result.send.say = [](const std::string& text) { say("sampan: push: {}\n", text); };
  result.spool = options.spool.empty() ? usual_spool() : options.spool;
  return result;
}

void say_pushed(const push::Summary& summary, const PushOptions& options,
                const std::string& directory, bool quiet) {
  const push::Counts& counts = summary.counts;
  const bool all = counts.refused == 0 && counts.dropped == 0 && summary.left.items == 0;
  if (quiet && all) return;
  std::string text =
      fmt::format("{} {} sent to {}", counts.sent, counts.sent == 1 ? "piece" : "pieces",
                  http::printable_url(options.url));
  if (counts.refused != 0) {
    text += fmt::format("; {} refused, in {}/refused", counts.refused, directory);
  }
  if (counts.dropped != 0) text += fmt::format("; {} dropped", counts.dropped);
  if (summary.left.items != 0) {
    text +=
        fmt::format("; {} left, {:.1f} MB, in {}: the next sampan that pushes there sends them",
                    summary.left.items, static_cast<double>(summary.left.bytes) / 1e6, directory);
  }
  say("sampan: push: {}\n", text);
}

}  // namespace sampan::cli
