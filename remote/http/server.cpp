#include "remote/http/server.h"

#include <microhttpd.h>
#include <strings.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <exception>
#include <utility>

#include "base/error.h"
#include "base/late_library.h"
#include "remote/http/deadlines.h"

namespace sampan::http {
namespace {

// The functions of libmicrohttpd, which is loaded late: it brings a TLS library with it.
struct Microhttpd {
  LateLibrary library{"libmicrohttpd.so.12", "libmicrohttpd12", "libmicrohttpd"};
  decltype(MHD_start_daemon)* start_daemon = library["MHD_start_daemon"];
  decltype(MHD_stop_daemon)* stop_daemon = library["MHD_stop_daemon"];
  decltype(MHD_get_connection_info)* get_connection_info = library["MHD_get_connection_info"];
  decltype(MHD_get_connection_values)* get_connection_values = library["MHD_get_connection_values"];
  decltype(MHD_suspend_connection)* suspend_connection = library["MHD_suspend_connection"];
  decltype(MHD_resume_connection)* resume_connection = library["MHD_resume_connection"];
  decltype(MHD_create_response_from_buffer)* create_response_from_buffer =
      library["MHD_create_response_from_buffer"];
  decltype(MHD_create_response_from_buffer_with_free_callback_cls)* create_response_from_owner =
      library["MHD_create_response_from_buffer_with_free_callback_cls"];
  decltype(MHD_create_response_from_fd64)* create_response_from_fd =
      library["MHD_create_response_from_fd64"];
  decltype(MHD_add_response_header)* add_response_header = library["MHD_add_response_header"];
  decltype(MHD_queue_response)* queue_response = library["MHD_queue_response"];
  decltype(MHD_destroy_response)* destroy_response = library["MHD_destroy_response"];
};

// Throws Error if it cannot be loaded.
const Microhttpd& mhd() {
  static const Microhttpd library;
  return library;
}

constexpr size_t kMaxHead = 16'384;
constexpr unsigned kIdleTimeoutS = 8;
constexpr rlim_t kOtherDescriptors = 64;  // not used by connections

using Fields = std::map<std::string, std::string, std::less<>>;

unsigned most_connections() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMaxConnections;
  // An answer from a file uses another descriptor.
  const rlim_t room = limit.rlim_cur > kOtherDescriptors ? limit.rlim_cur - kOtherDescriptors : 2;
  return static_cast<unsigned>(std::min<rlim_t>(kMaxConnections, std::max<rlim_t>(room / 2, 2)));
}

MHD_Result add_parameter(void* fields, MHD_ValueKind, const char* name, const char* value) {
  static_cast<Fields*>(fields)->try_emplace(name, value != nullptr ? value : "");
  return MHD_YES;
}

MHD_Result add_header(void* fields, MHD_ValueKind, const char* name, const char* value) {
  std::string lower = name;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  static_cast<Fields*>(fields)->try_emplace(std::move(lower), value != nullptr ? value : "");
  return MHD_YES;
}

Request read_head(MHD_Connection* connection, const char* method, const char* path) {
  Request request;
  request.method = method;
  request.path = path;
  mhd().get_connection_values(connection, MHD_GET_ARGUMENT_KIND, add_parameter, &request.query);
  mhd().get_connection_values(connection, MHD_HEADER_KIND, add_header, &request.headers);
  return request;
}

// What clients and proxies in front of us could understand differently: which server is asked, and where
// the request ends.
struct Ambiguity {
  unsigned hosts = 0, lengths = 0, encodings = 0;
  bool wrong_host = false, wrong_length = false;

  explicit operator bool() const {
    return hosts > 1 || lengths > 1 || (lengths != 0 && encodings != 0) || wrong_host ||
           wrong_length;
  }
};

// A name or an address, and perhaps a port (RFC 9110, section 7.2). One that nobody has is no matter here.
bool is_authority(std::string_view host) {
  const size_t bracket = host.find(']');  // an IPv6 address contains colons
  const size_t colon = host.find(':', bracket != host.npos ? bracket : 0);
  const std::string_view port = colon != host.npos ? host.substr(colon + 1) : "";
  return host.find_first_of(" \t,/@?#") == host.npos &&
         port.find_first_not_of("0123456789") == port.npos;
}

MHD_Result add_ambiguity(void* context, MHD_ValueKind, const char* name, const char* value) {
  auto& found = *static_cast<Ambiguity*>(context);
  const std::string_view text = value != nullptr ? value : "";
  if (strcasecmp(name, "host") == 0) {
    ++found.hosts;
    found.wrong_host |= !is_authority(text);
  } else if (strcasecmp(name, "content-length") == 0) {
    ++found.lengths;
    found.wrong_length |= text.empty() || text.find_first_not_of("0123456789") != text.npos;
  } else if (strcasecmp(name, "transfer-encoding") == 0) {
    ++found.encodings;
  }
  return MHD_YES;
}

bool is_ambiguous(MHD_Connection* connection) {
  Ambiguity found;
  mhd().get_connection_values(connection, MHD_HEADER_KIND, add_ambiguity, &found);
  return static_cast<bool>(found);
}

// The connection ends with it: what follows may be a part of the request, or another one.
Response refuse_ambiguous() {
  Response response = sentence(400, "the request can be understood in several ways");
  response.headers.emplace_back("Connection", "close");
  return response;
}

bool announces_large_body(const Request& request) {
  const std::string_view length = request.header("content-length");
  uint64_t size = 0;
  const auto [end, error] = std::from_chars(length.data(), length.data() + length.size(), size);
  return error == std::errc() && size > kMaxBody;
}

void release_body(void* body) {
  delete static_cast<std::shared_ptr<const Body>*>(body);
}

MHD_Response* create(const std::shared_ptr<const Body>& body) {
  if (body == nullptr) return mhd().create_response_from_buffer(0, nullptr, MHD_RESPMEM_PERSISTENT);
  if (body->file) return mhd().create_response_from_fd(body->file_size, dup(body->file.get()));
  auto* const owner = new std::shared_ptr<const Body>(body);
  // The library does not write to it.
  auto* const bytes = const_cast<char*>(body->text.data());
  return mhd().create_response_from_owner(body->text.size(), bytes, release_body, owner);
}

// libmicrohttpd 1.0.1 may move memory by a wild distance when a request has no header fields and its last parameter no "=": it takes
// the end of a value that is not there. So such parameters are cut off before they are parsed. `target` is the library's buffer,
// which it writes to itself, next.
void* cut_bare_parameters(void*, const char* target, MHD_Connection*) {
  char* const query = std::strchr(const_cast<char*>(target), '?');
  while (query != nullptr && query[1] != '\0') {
    char* const ampersand = std::strrchr(query, '&');
    char* const last = (ampersand != nullptr ? ampersand : query) + 1;
    if (std::strchr(last, '=') != nullptr) break;
    *(ampersand != nullptr ? ampersand : last) = '\0';
  }
  return nullptr;  // the context of the request, which begins later
}

}  // namespace

// One request, from its head to its answer.
struct Exchange {
  MHD_Connection* connection = nullptr;
  Request request = {};
  bool is_handled = false;  // has been passed to the handler
  std::optional<Response> response = {};
};

Reply::~Reply() {
  if (exchange_ != nullptr) send(sentence(503, "the server is busy, or about to end"));
}

void Reply::send(Response response) {
  const std::shared_ptr<Exchange> exchange = std::exchange(exchange_, nullptr);
  exchange->response = std::move(response);
  mhd().resume_connection(exchange->connection);
}

struct Server::State {
  Guard guard;
  Handler handler;
  Deadlines deadlines = {};
  std::string problem = {};  // logged by the library at startup
  bool is_starting = true;
  MHD_Daemon* daemon = nullptr;

  static Deadlines::Client* client_of(MHD_Connection* connection) {
    const MHD_ConnectionInfo* const info =
        mhd().get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info != nullptr ? static_cast<Deadlines::Client*>(info->socket_context) : nullptr;
  }

  MHD_Result queue(MHD_Connection* connection, const Response& response) {
    MHD_Response* const queued = create(response.body);
    if (queued == nullptr) return MHD_NO;
    mhd().add_response_header(queued, "Content-Type", response.type.c_str());
    mhd().add_response_header(queued, "Cache-Control", "no-store");
    mhd().add_response_header(queued, "X-Content-Type-Options", "nosniff");
    for (const auto& [name, value] : response.headers) {
      mhd().add_response_header(queued, name.c_str(), value.c_str());
    }
    deadlines.reads(client_of(connection), response.body != nullptr ? response.body->size() : 0);
    const MHD_Result result = mhd().queue_response(connection, response.status, queued);
    mhd().destroy_response(queued);
    return result;
  }

  MHD_Result begin(MHD_Connection* connection, const char* path, const char* method,
                   void** context) {
    auto exchange = std::make_shared<Exchange>();
    exchange->connection = connection;
    exchange->request = read_head(connection, method, path);
    *context = new std::shared_ptr<Exchange>(exchange);
    if (is_ambiguous(connection)) return queue(connection, refuse_ambiguous());
    std::optional<Response> refused = guard(exchange->request);
    if (!refused && announces_large_body(exchange->request)) {
      refused = sentence(413, "the request is too large");
    }
    return refused ? queue(connection, *refused) : MHD_YES;
  }

  MHD_Result go_on(const std::shared_ptr<Exchange>& exchange, const char* data, size_t* size) {
    if (exchange->response) return queue(exchange->connection, *exchange->response);
    if (*size != 0) {
      std::string& body = exchange->request.body;
      if (body.size() + *size > kMaxBody) return MHD_NO;
      body.append(data, *size);
      *size = 0;
      return MHD_YES;
    }
    if (std::exchange(exchange->is_handled, true)) return MHD_YES;
    deadlines.waits(client_of(exchange->connection));
    mhd().suspend_connection(exchange->connection);
    try {
      handler(std::move(exchange->request), Reply(exchange));
    } catch (const std::exception&) {
      // The destroyed Reply has answered 503.
    }
    return MHD_YES;
  }

  static MHD_Result on_request(void* state, MHD_Connection* connection, const char* path,
                               const char* method, const char*, const char* data, size_t* size,
                               void** context) {
    auto* const self = static_cast<State*>(state);
    if (*context == nullptr) return self->begin(connection, path, method, context);
    return self->go_on(*static_cast<std::shared_ptr<Exchange>*>(*context), data, size);
  }

  static void on_completed(void* state, MHD_Connection* connection, void** context,
                           MHD_RequestTerminationCode) {
    delete static_cast<std::shared_ptr<Exchange>*>(std::exchange(*context, nullptr));
    static_cast<State*>(state)->deadlines.asks(client_of(connection));
  }

  static void on_connection(void* state, MHD_Connection* connection, void** context,
                            MHD_ConnectionNotificationCode code) {
    auto* const self = static_cast<State*>(state);
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
      *context = self->deadlines.connected(
          mhd().get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd);
    } else {
      self->deadlines.gone(static_cast<Deadlines::Client*>(*context));
    }
  }

  // After startup the library only logs errors of clients, who notice them themselves.
  static void on_log(void* state, const char* format, va_list arguments) {
    auto* const self = static_cast<State*>(state);
    if (!self->is_starting) return;
    char text[512];
    std::vsnprintf(text, sizeof text, format, arguments);
    self->problem = text;
    while (self->problem.ends_with('\n')) self->problem.pop_back();
  }
};

Server::Server(const Listener& listener, const Certificate& certificate, Guard guard,
               Handler handler)
    : state_(new State{.guard = std::move(guard), .handler = std::move(handler)}) {
  const unsigned connections = most_connections();
  std::vector<MHD_OptionItem> options = {
      {MHD_OPTION_LISTEN_SOCKET, dup(listener.fd()), nullptr},  // closed with the daemon
      {MHD_OPTION_CONNECTION_LIMIT, connections, nullptr},
      {MHD_OPTION_PER_IP_CONNECTION_LIMIT, connections / 2, nullptr},
      {MHD_OPTION_CONNECTION_MEMORY_LIMIT, kMaxHead, nullptr},
      {MHD_OPTION_CONNECTION_TIMEOUT, kIdleTimeoutS, nullptr},
      {MHD_OPTION_URI_LOG_CALLBACK, reinterpret_cast<intptr_t>(&cut_bare_parameters), nullptr},
      {MHD_OPTION_NOTIFY_COMPLETED, reinterpret_cast<intptr_t>(&State::on_completed), state_.get()},
      {MHD_OPTION_NOTIFY_CONNECTION, reinterpret_cast<intptr_t>(&State::on_connection),
       state_.get()},
  };
  unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
  const auto text = [](const std::string& pem) { return const_cast<char*>(pem.c_str()); };
  if (!certificate.certificate.empty()) {
    flags |= MHD_USE_TLS;
    options.push_back({MHD_OPTION_HTTPS_MEM_CERT, 0, text(certificate.certificate)});
    options.push_back({MHD_OPTION_HTTPS_MEM_KEY, 0, text(certificate.key)});
  }
  options.push_back({MHD_OPTION_END, 0, nullptr});
  state_->daemon = mhd().start_daemon(flags, 0, nullptr, nullptr, &State::on_request, state_.get(),
                                      MHD_OPTION_EXTERNAL_LOGGER, &State::on_log, state_.get(),
                                      MHD_OPTION_ARRAY, options.data(), MHD_OPTION_END);
  if (state_->daemon == nullptr) {
    throw Error("serving on {}: {}", listener.authority(),
                state_->problem.empty() ? "libmicrohttpd does not start" : state_->problem);
  }
  state_->is_starting = false;
}

Server::~Server() {
  mhd().stop_daemon(state_->daemon);
}

std::optional<Response> refuse_writing(const Request& request) {
  if (request.method == "GET" || request.method == "HEAD") return std::nullopt;
  Response response = sentence(405, "only GET and HEAD are answered");
  response.headers.emplace_back("Allow", "GET, HEAD");
  return response;
}

}  // namespace sampan::http
