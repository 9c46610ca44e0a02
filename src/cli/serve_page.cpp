#include "cli/serve_page.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace sampan::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr size_t kLongestRequest = 8192;
constexpr milliseconds kPatience{5000};
constexpr int kBacklog = 16;

std::string random_token() {
  std::array<unsigned char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw Error("serving the page: no random numbers: {}", std::strerror(errno));
  }
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

// Whether `fd` is ready before the deadline, and before somebody asks to stop.
bool wait_for(int fd, short events, int stop_fd, steady_clock::time_point deadline) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now()).count();
    if (left <= 0) return false;
    std::array<pollfd, 2> waited = {{{fd, events, 0}, {stop_fd, POLLIN, 0}}};
    const int ready = poll(waited.data(), waited.size(), static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0 || waited[1].revents != 0) return false;
    return true;
  }
}

// Up to the empty line; absent when it is too long, or does not come in time.
std::optional<std::string> read_request(int client, int stop_fd) {
  const auto deadline = steady_clock::now() + kPatience;
  std::string request;
  while (request.find("\r\n\r\n") == request.npos) {
    if (request.size() >= kLongestRequest || !wait_for(client, POLLIN, stop_fd, deadline)) {
      return std::nullopt;
    }
    std::array<char, 4096> bytes;
    const ssize_t got = recv(client, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got <= 0) return std::nullopt;
    request.append(bytes.data(), static_cast<size_t>(got));
  }
  return request;
}

bool send_all(int client, int stop_fd, std::string_view bytes) {
  while (!bytes.empty()) {
    if (!wait_for(client, POLLOUT, stop_fd, steady_clock::now() + kPatience)) return false;
    const ssize_t sent = send(client, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

std::string head(std::string_view status, std::string_view type, size_t size) {
  return fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: {}; charset=utf-8\r\nContent-Length: {}\r\n"
      "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n"
      "X-Content-Type-Options: nosniff\r\n"
      "Content-Security-Policy: default-src 'none'; script-src 'unsafe-inline'; "
      "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
      "frame-ancestors 'none'\r\n"
      "Connection: close\r\n\r\n",
      status, type, size);
}

}  // namespace

PageServer::PageServer(std::string page, uint16_t port)
    : page_(std::move(page)),
      token_(random_token()),
      listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  const int yes = 1;
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  if (!listener_ || setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      bind(listener_.get(), generic, sizeof address) != 0 ||
      listen(listener_.get(), kBacklog) != 0 || getsockname(listener_.get(), generic, &size) != 0) {
    throw Error("serving the page on port {}: {}. --port 0 takes any that is free", port,
                std::strerror(errno));
  }
  port_ = ntohs(address.sin_port);
}

std::string PageServer::url() const {
  return fmt::format("http://127.0.0.1:{}/{}/", port_, token_);
}

void PageServer::run(int stop_fd) {
  for (;;) {
    std::array<pollfd, 2> waited = {{{listener_.get(), POLLIN, 0}, {stop_fd, POLLIN, 0}}};
    if (poll(waited.data(), waited.size(), -1) < 0) {
      if (errno == EINTR) continue;
      throw Error("serving the page: poll: {}", std::strerror(errno));
    }
    if (waited[1].revents != 0) return;
    const sampler::FileDescriptor client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (client) answer(client.get(), stop_fd);
  }
}

void PageServer::answer(int client, int stop_fd) const {
  const std::optional<std::string> request = read_request(client, stop_fd);
  if (!request) return;
  const std::string_view line = std::string_view(*request).substr(0, request->find("\r\n"));
  const size_t method_end = line.find(' ');
  const std::string_view method = line.substr(0, method_end);
  const std::string_view rest = method_end == line.npos ? "" : line.substr(method_end + 1);
  const std::string_view path = rest.substr(0, rest.find(' '));

  const auto refuse = [&](std::string_view status) {
    const std::string text = std::string(status) + "\n";
    send_all(client, stop_fd, head(status, "text/plain", text.size()) + text);
  };
  if (method != "GET" && method != "HEAD") return refuse("405 Method Not Allowed");
  if (path != "/" + token_ + "/") return refuse("404 Not Found");
  if (!send_all(client, stop_fd, head("200 OK", "text/html", page_.size()))) return;
  if (method == "GET") send_all(client, stop_fd, page_);
}

}  // namespace sampan::cli
