#include "remote/http/listener.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/error.h"

namespace sampan::http {
namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses resolve(const std::string& address, uint16_t port) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) {
    throw Error("'{}' is no address of numbers, such as 127.0.0.1, 0.0.0.0 or ::1: {}", address,
                gai_strerror(error));
  }
  return {found, &freeaddrinfo};
}

bool is_loopback_address(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    const auto* const four = reinterpret_cast<const sockaddr_in*>(address);
    return ntohl(four->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
  }
  const auto* const six = reinterpret_cast<const sockaddr_in6*>(address);
  return address->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

}  // namespace

Listener::Listener(const std::string& address, uint16_t port) {
  const Addresses found = resolve(address, port);
  socket_ = FileDescriptor(socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1;
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  auto* const generic = reinterpret_cast<sockaddr*>(&bound);
  if (!socket_ || setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      bind(socket_.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      listen(socket_.get(), SOMAXCONN) != 0 || getsockname(socket_.get(), generic, &size) != 0) {
    throw Error("serving on {}, port {}: {}{}", address, port, std::strerror(errno),
                errno == EADDRINUSE ? ". --port 0 takes any that is free" : "");
  }
  is_loopback_ = is_loopback_address(generic);
  char host[NI_MAXHOST], service[NI_MAXSERV];
  const int error = getnameinfo(generic, size, host, sizeof host, service, sizeof service,
                                NI_NUMERICHOST | NI_NUMERICSERV);
  if (error != 0) throw Error("serving on {}, port {}: {}", address, port, gai_strerror(error));
  const bool is_six = bound.ss_family == AF_INET6;
  authority_ = is_six ? fmt::format("[{}]:{}", host, service) : fmt::format("{}:{}", host, service);
}

}  // namespace sampan::http
