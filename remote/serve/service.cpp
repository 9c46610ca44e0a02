#include "remote/serve/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <utility>

#include "base/error.h"

namespace sampan::serve {
namespace {

constexpr DefaultWindow kAll{};
constexpr DefaultWindow kThirtySeconds{.seconds = 30};  // the default of Go's server
constexpr DefaultWindow kOneSecond{.seconds = 1};       // the default of Go's server for traces
constexpr DefaultWindow kLastMinute{.last = 60};

// The paths that are served.
struct Endpoint {
  std::string_view path;
  std::string_view description;
  DefaultWindow usual;
  bool of_process;  // not available for a recording
  bool has_window;  // accepts `seconds` and `last`
  http::Response (Answers::*answer)(const Window& window);
};

constexpr Endpoint kEndpoints[] = {
    {"/", "the page: flame graphs, threads, timeline", kLastMinute, false, true, &Answers::page},
    {"/page-data", "the data of the page, for the page", kLastMinute, false, true,
     &Answers::page_data},
    {"/debug/pprof/profile", "CPU profile for go tool pprof, Parca, Pyroscope, Alloy",
     kThirtySeconds, false, true, &Answers::pprof},
    {"/debug/pprof/heap", "what lives in the heap, pprof; needs --heap", kAll, false, true,
     &Answers::live_heap},
    {"/debug/pprof/allocs", "what was allocated, pprof; needs --heap", kAll, false, true,
     &Answers::allocations},
    {"/debug/pprof/block", "waits for locks, by who waited, pprof; needs --locks", kAll, false,
     true, &Answers::waiters},
    {"/debug/pprof/mutex", "waits for locks, by who held them, pprof; needs --locks", kAll, false,
     true, &Answers::holders},
    {"/debug/pprof/trace", "trace for ui.perfetto.dev", kOneSecond, false, true, &Answers::trace},
    {"/debug/pprof/cmdline", "the command line, words separated by zero bytes", kAll, false, false,
     &Answers::command_line},
    {"/pprof/profile", "CPU profile for google-pprof", kThirtySeconds, false, true,
     &Answers::gperftools_profile},
    {"/pprof/cmdline", "the command line, one word per line", kAll, false, false,
     &Answers::command_lines},
    {"/recording", "a recording for sampan report, top and view", kAll, false, true,
     &Answers::recording},
    {"/report.json", "as sampan report --json", kAll, false, true, &Answers::report},
    {"/dump.json", "the current threads and stacks, as sampan dump --json", kAll, true, false,
     &Answers::dump},
    {"/metrics", "metrics of the capture for Prometheus", kAll, false, false, &Answers::metrics},
};

std::string percent_encoded(std::string_view text) {
  std::string encoded;
  for (const unsigned char c : text) encoded += fmt::format("%{:02x}", c);
  return encoded;
}

// Null if there is none.
const Endpoint* find_endpoint(std::string_view path) {
  const auto* const found = std::ranges::find(kEndpoints, path, &Endpoint::path);
  return found != std::end(kEndpoints) ? found : nullptr;
}

// The page of /debug/pprof/. Its links contain the token, if there is one.
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
         "</table>\n<p>?seconds=N: from now on; ?last=N: up to now; otherwise the default of the "
         "path.</p>\n</body></html>\n";
}

constexpr unsigned kThreads = 3;  // so that a large page does not delay a profile
// names are looked up in advance for this time back
constexpr uint64_t kNamedBackNs = 60'000'000'000;

bool is_index(std::string_view path) {
  return path == "/debug/pprof/" || path == "/debug/pprof" || path == "/pprof/" || path == "/pprof";
}

bool is_symbols(std::string_view path) {
  return path == "/pprof/symbol" || path == "/debug/pprof/symbol";
}

std::string_view query_token(const http::Request& request) {
  return request.parameter("token").value_or("");
}

// Paths with an extra or a missing slash are not redirected.
http::Response no_such_path() {
  return http::sentence(404, "no such path; /debug/pprof/ lists all paths");
}

}  // namespace

Service::Service(const http::Listener& listener, Source& source, const ServiceOptions& options)
    : source_(source),
      access_(options.token),
      answers_(source, options.names, options.dump),
      jobs_(kThreads) {
  server_ = std::make_unique<http::Server>(
      listener, options.certificate,
      [this](const http::Request& request) { return access_.refuse(request); },
      [this](const http::Request& request, http::Reply reply) {
        handle(request, std::move(reply));
      });
  prepare_names({});
}

Service::~Service() {
  jobs_.stop();  // clients get their refusals before the server stops
  server_.reset();
}

// Looks up recent names in advance, so that only new ones are left when the answer is due.
void Service::prepare_names(const Window& window) {
  if (!source_.is_live()) return;
  const SessionNs from_ns = window.from_ns.earlier(kNamedBackNs);
  jobs_.add("names", {}, [this, from_ns] {
    answers_.learn_names({.from_ns = from_ns});
    return http::Response();
  });
}

void Service::handle(const http::Request& request, http::Reply reply) {
  if (is_index(request.path)) {
    return reply.send(http::answer("text/html; charset=utf-8",
                                   index_page(source_.is_live(), query_token(request))));
  }
  if (is_symbols(request.path)) {
    return jobs_.add(
        request.path + "\n" + request.body, {},
        [this, addresses = request.body] { return answers_.symbols(addresses); }, std::move(reply));
  }
  const Endpoint* const endpoint = find_endpoint(request.path);
  if (endpoint == nullptr) return reply.send(no_such_path());
  if (endpoint->of_process && !source_.is_live()) {
    return reply.send(http::sentence(400, "this is a recording: its process is not running"));
  }
  if (request.method == "HEAD") return reply.send({});
  Window window;
  try {
    if (endpoint->has_window) window = window_of(request, source_, endpoint->usual);
  } catch (const Error& error) {
    return reply.send(http::sentence(400, error.what()));
  }
  if (window.wait_ns > 0) prepare_names(window);
  const std::string key = request.path + "\n" + window.key;
  jobs_.add(
      key, std::chrono::nanoseconds(window.wait_ns),
      [this, endpoint, window] { return (answers_.*endpoint->answer)(window); }, std::move(reply));
}

}  // namespace sampan::serve
