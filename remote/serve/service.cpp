#include "serve/service.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "base/error.h"
#include "serve/endpoints.h"

namespace sampan::serve {
namespace {

constexpr unsigned kThreads = 3;  // a large page holds up nobody who waits for a profile
constexpr uint64_t kNamesOf_ns = 60'000'000'000;  // as far back as names are looked up beforehand

bool is_index(std::string_view path) {
  return path == "/debug/pprof/" || path == "/debug/pprof" || path == "/pprof/" || path == "/pprof";
}

bool is_symbols(std::string_view path) {
  return path == "/pprof/symbol" || path == "/debug/pprof/symbol";
}

std::string_view query_token(const http::Request& request) {
  return request.parameter("token").value_or("");
}

// A path with a slash too many or too few is not another one.
http::Response no_such_path() {
  return http::sentence(404, "there is nothing here; /debug/pprof/ says what there is");
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
      [this](http::Request request, http::Reply reply) {
        handle(std::move(request), std::move(reply));
      });
  prepare_names({});
}

Service::~Service() {
  jobs_.stop();  // nobody waits any more
  server_.reset();
}

// Those that were seen lately: when the answer is due, only new ones are left to look up.
void Service::prepare_names(const Window& window) {
  if (!source_.is_live()) return;
  const uint64_t from_ns = window.from_ns - std::min(window.from_ns, kNamesOf_ns);
  jobs_.add("names", {}, [this, from_ns] {
    answers_.learn_names({.from_ns = from_ns});
    return http::Response();
  });
}

void Service::handle(http::Request request, http::Reply reply) {
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
    return reply.send(
        http::sentence(400, "this is a recording: its process is not there any more"));
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
