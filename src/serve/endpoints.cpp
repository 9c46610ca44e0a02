#include "serve/endpoints.h"

#include <fmt/format.h>

#include <algorithm>

namespace sampan::serve {
namespace {

constexpr UsualWindow kAll{};
constexpr UsualWindow kThirtySeconds{.seconds = 30};  // as Go's server has it
constexpr UsualWindow kOneSecond{.seconds = 1};       // the same, of traces
constexpr UsualWindow kLastMinute{.last = 60};

constexpr Endpoint kEndpoints[] = {
    {"/", "the page: flame graphs, threads, timeline", kLastMinute, false, true, &Answers::page},
    {"/page-data", "what the page shows, for the page", kLastMinute, false, true,
     &Answers::page_data},
    {"/debug/pprof/profile", "CPU profile for go tool pprof, Parca, Pyroscope, Alloy",
     kThirtySeconds, false, true, &Answers::pprof},
    {"/debug/pprof/trace", "trace for ui.perfetto.dev", kOneSecond, false, true, &Answers::trace},
    {"/debug/pprof/cmdline", "the command line, between zero bytes", kAll, false, false,
     &Answers::command_line},
    {"/pprof/profile", "CPU profile for google-pprof", kThirtySeconds, false, true,
     &Answers::gperftools_profile},
    {"/pprof/cmdline", "the command line, a word a line", kAll, false, false,
     &Answers::command_lines},
    {"/recording", "a recording for sampan report, top and view", kAll, false, true,
     &Answers::recording},
    {"/report.json", "as sampan report --json", kAll, false, true, &Answers::report},
    {"/dump.json", "the threads and their stacks now, as sampan dump --json", kAll, true, false,
     &Answers::dump},
    {"/metrics", "figures of the capture for Prometheus", kAll, false, false, &Answers::metrics},
};

std::string percent_encoded(std::string_view text) {
  std::string encoded;
  for (const unsigned char c : text) encoded += fmt::format("%{:02x}", c);
  return encoded;
}

}  // namespace

std::span<const Endpoint> endpoints() {
  return kEndpoints;
}

const Endpoint* find_endpoint(std::string_view path) {
  const auto* const found = std::ranges::find(kEndpoints, path, &Endpoint::path);
  return found != std::end(kEndpoints) ? found : nullptr;
}

std::string index_page(bool is_live, std::string_view token) {
  std::string rows;
  for (const Endpoint& endpoint : kEndpoints) {
    if (endpoint.of_process && !is_live) continue;
    std::string query;
    if (endpoint.has_window && is_live && endpoint.usual.seconds > 0) query = "?seconds=5";
    if (!token.empty())
      query += (query.empty() ? "?token=" : "&amp;token=") + percent_encoded(token);
    rows += fmt::format("<tr><td><a href=\"{0}{1}\">{0}</a></td><td>{2}</td></tr>\n", endpoint.path,
                        query, endpoint.description);
  }
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>sampan</title>"
         "</head>\n<body><h1>sampan</h1>\n<table>\n" +
         rows +
         "</table>\n<p>?seconds=N: from now on; ?last=N: up to now; without: what the path usually "
         "has.</p>\n</body></html>\n";
}

}  // namespace sampan::serve
