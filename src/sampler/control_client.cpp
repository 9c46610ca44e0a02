#include "sampler/control_client.h"

#include <fmt/core.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <optional>
#include <vector>

#include "base/error.h"
#include "sampler/control_socket.h"
#include "sampler/file_descriptor.h"

namespace sampan::sampler {
namespace {

constexpr timeval kPatience{.tv_sec = 10, .tv_usec = 0};  // of a recorder that is busy
constexpr std::string_view kDone = "done ";
constexpr std::string_view kRefused = "refused ";

// The last word of a line; '@' stands for the zero byte of an abstract name.
std::vector<std::string> recorders() {
  std::vector<std::string> names;
  std::ifstream file("/proc/net/unix");
  const std::string mark = fmt::format(" @{}", kControlPrefix);
  for (std::string line; std::getline(file, line);) {
    const size_t place = line.find(mark);
    if (place == std::string::npos) continue;
    const std::string name = line.substr(place + 2);
    // A connection has the name of the socket that it came through.
    if (names.empty() || names.back() != name) names.push_back(name);
  }
  return names;
}

// Nothing when there is nobody, or somebody who may not be told the token.
std::optional<std::string> ask(const std::string& name, const std::string& request) {
  const FileDescriptor connection(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  if (!connection || name.size() + 1 > sizeof address.sun_path) return std::nullopt;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  setsockopt(connection.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  setsockopt(connection.get(), SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
  ucred who{};
  socklen_t who_size = sizeof who;
  if (connect(connection.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &who, &who_size) != 0 ||
      (who.uid != geteuid() && who.uid != 0 && geteuid() != 0) ||
      send(connection.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) {
    return std::nullopt;
  }
  std::string reply(kMaxControlMessage, '\0');
  const ssize_t received = recv(connection.get(), reply.data(), reply.size(), 0);
  if (received <= 0) return std::nullopt;
  reply.resize(static_cast<size_t>(received));
  return reply;
}

}  // namespace

std::string control(pid_t pid, std::string_view command, std::string_view token) {
  const std::string request = fmt::format("{} {} {}", command, pid, token);
  for (const std::string& name : recorders()) {
    const std::optional<std::string> reply = ask(name, request);
    if (reply && reply->starts_with(kDone)) return reply->substr(kDone.size());
    if (reply && reply->starts_with(kRefused)) {
      throw Error("process {}: {}", pid, reply->substr(kRefused.size()));
    }
  }
  if (kill(pid, 0) != 0 && errno == ESRCH) throw Error("there is no process {}", pid);
  throw Error(
      "process {} is not being recorded by a sampan of yours. One in another network namespace, as "
      "containers have, is reached from there only",
      pid);
}

}  // namespace sampan::sampler
