#include "sampler/control/control_socket.h"

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "base/token_file.h"

namespace sampan::sampler {
namespace {

constexpr std::string_view kControlPrefix = "sampan-ctl-";
constexpr size_t kMaxControlMessage = 8192;
constexpr int kBacklog = 16;
constexpr size_t kMaxGuests = 16;  // bounds those that connect and say nothing

std::string random_name() {
  uint64_t random = 0;
  if (getrandom(&random, sizeof random, 0) != sizeof random) {
    throw Error("naming the control socket: getrandom: {}", std::strerror(errno));
  }
  return fmt::format("{}{:016x}", kControlPrefix, random);
}

// Removes the word up to the next space, and the space.
std::string_view next_word(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(std::min(text.size(), word.size() + 1));
  return word;
}

template <typename Number>
Number number_of(std::string_view digits) {
  Number number = 0;
  const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || rest != digits.data() + digits.size()) {
    throw Error("'{}' is no number", digits);
  }
  return number;
}

bool has_argument(std::string_view command) {
  return command == "rate" || command == "heap" || command == "locks";
}

bool is_trusted(int connection) {
  ucred who{};
  socklen_t size = sizeof who;
  return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
         (who.uid == geteuid() || who.uid == 0);
}

constexpr std::string_view kDone = "done ";
constexpr std::string_view kRefused = "refused ";

// The last word of a line; '@' stands for the zero byte of an abstract name. A recorder's connections have its name,
// too, and stand anywhere in the file: each recorder is asked once, for some requests do something.
std::set<std::string> recorders() {
  std::set<std::string> names;
  std::ifstream file("/proc/net/unix");
  const std::string mark = fmt::format(" @{}", kControlPrefix);
  for (std::string line; std::getline(file, line);) {
    const size_t place = line.find(mark);
    if (place != std::string::npos) names.insert(line.substr(place + 2));
  }
  return names;
}

// The recorders that have a request, and have not answered it yet.
struct Asked {
  std::vector<FileDescriptor> connections;
  size_t refusing = 0;  // so many others wait for the recorder already
};

// Asks the recorder, unless nobody listens, or a user who must not see the token.
void ask(const std::string& name, const std::string& request, Asked& asked) {
  FileDescriptor connection(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  if (!connection || name.size() + 1 > sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (connect(connection.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) {
    asked.refusing += errno == EAGAIN;
    return;
  }
  ucred who{};
  socklen_t who_size = sizeof who;
  if (getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &who, &who_size) != 0 ||
      (who.uid != geteuid() && who.uid != 0 && geteuid() != 0) ||
      send(connection.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) {
    return;
  }
  asked.connections.push_back(std::move(connection));
}

// Empty when the recorder has ended.
std::string receive(const FileDescriptor& connection) {
  std::string reply(kMaxControlMessage, '\0');
  const ssize_t received = recv(connection.get(), reply.data(), reply.size(), 0);
  reply.resize(received > 0 ? static_cast<size_t>(received) : 0);
  return reply;
}

// The next answers, until `end`; none when no more will come. Those who gave them are not waited for
// any longer.
std::vector<std::string> next_answers(Asked& asked, std::chrono::steady_clock::time_point end) {
  std::vector<pollfd> waiting;
  for (const FileDescriptor& connection : asked.connections) {
    waiting.push_back({connection.get(), POLLIN, 0});
  }
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
  std::vector<std::string> answers;
  if (waiting.empty() || left.count() <= 0 ||
      poll(waiting.data(), waiting.size(), static_cast<int>(left.count())) <= 0) {
    return answers;
  }
  for (size_t i = waiting.size(); i-- > 0;) {
    if (waiting[i].revents == 0) continue;
    answers.push_back(receive(asked.connections[i]));
    asked.connections.erase(asked.connections.begin() + static_cast<ptrdiff_t>(i));
  }
  return answers;
}

}  // namespace

ControlSocket::ControlSocket(EventLoop& loop, Controlled controlled, std::string token)
    : loop_(loop),
      controlled_(std::move(controlled)),
      token_(std::move(token)),
      socket_(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  const std::string name = random_name();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());  // abstract
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (!socket_ || bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(socket_.get(), kBacklog) != 0) {
    throw Error("opening the control socket: {}", std::strerror(errno));
  }
  loop_.watch(socket_.get(), [this] { accept_all(); });
}

ControlSocket::~ControlSocket() {
  for (const auto& [fd, guest] : guests_) loop_.forget(fd);
  loop_.forget(socket_.get());
}

void ControlSocket::accept_all() {
  while (true) {
    FileDescriptor guest(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!guest) return;
    if (!is_trusted(guest.get())) continue;
    if (guests_.size() >= kMaxGuests) {
      loop_.forget(guests_.begin()->first);
      guests_.erase(guests_.begin());
    }
    const int connection = guest.get();
    guests_.emplace(connection, std::move(guest));
    loop_.watch(connection, [this, connection] { answer(connection); });
  }
}

void ControlSocket::answer(int connection) {
  char request[kMaxControlMessage];
  const ssize_t size = recv(connection, request, sizeof request, MSG_TRUNC);
  if (size > 0 && static_cast<size_t>(size) <= sizeof request) {
    const std::string reply = reply_to({request, static_cast<size_t>(size)});
    send(connection, reply.data(), reply.size(), MSG_NOSIGNAL);
  }
  loop_.forget(connection);
  guests_.erase(connection);
}

std::string ControlSocket::reply_to(std::string_view request) {
  const std::string_view command = next_word(request);
  const std::string_view argument = has_argument(command) ? next_word(request) : "";
  const std::string_view digits = next_word(request);
  pid_t pid = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), pid);
  if (pid != getpid() && !controlled_.records(pid)) return "other";
  if (!token_.empty() && request.empty()) {
    return "refused the recording asks for a token: name its file in SAMPAN_TOKEN_FILE";
  }
  if (!token_.empty() && !same_token(token_, request)) {
    return "refused the token is not that of the recording: SAMPAN_TOKEN_FILE names another file, "
           "or the file has changed since the recording began";
  }
  try {
    return "done " + perform(command, argument);
  } catch (const std::exception& error) {
    return std::string("refused ") + error.what();
  }
}

std::string ControlSocket::perform(std::string_view command, std::string_view argument) {
  if (command == "status") return controlled_.status();
  if (command == "rate") {
    controlled_.set_rate(number_of<uint32_t>(argument));
    return controlled_.status();
  }
  if (command == "heap" || command == "locks") {
    (command == "heap" ? controlled_.set_heap_mean
                       : controlled_.set_lock_limit)(number_of<uint64_t>(argument));
    return controlled_.status();
  }
  if (command == "flush") {
    return fmt::format("what was recorded so far is in {}", controlled_.flush());
  }
  if (command == "sync") {
    return controlled_.sync();
  }
  if (command != "pause" && command != "resume") throw Error("unknown command '{}'", command);
  controlled_.set_paused(command == "pause");
  return command == "pause" ? "sampling is paused" : "sampling goes on";
}

std::string control(pid_t pid, std::string_view command, std::string_view token,
                    std::chrono::seconds timeout) {
  const std::string request = fmt::format("{} {} {}", command, pid, token);
  const auto end = std::chrono::steady_clock::now() + timeout;
  // All at once: one that is stopped must not keep the others from answering.
  Asked asked;
  for (const std::string& name : recorders()) ask(name, request, asked);
  while (true) {
    const std::vector<std::string> answers = next_answers(asked, end);
    if (answers.empty()) break;
    for (const std::string& answer : answers) {
      if (answer.starts_with(kDone)) return answer.substr(kDone.size());
      if (answer.starts_with(kRefused)) {
        throw Error("process {}: {}", pid, answer.substr(kRefused.size()));
      }
    }
  }
  if (kill(pid, 0) != 0 && errno == ESRCH) throw Error("there is no process {}", pid);
  if (const size_t silent = asked.connections.size() + asked.refusing; silent != 0) {
    throw Error(
        "process {} is not being recorded by a sampan that answers. {} of yours did not answer "
        "within "
        "{} s and may be stopped: look for them with 'ps -C sampan -o pid,stat,args'",
        pid, silent, timeout.count());
  }
  throw Error(
      "process {} is not being recorded by a sampan of yours. One in another network namespace, as "
      "containers have, is reached from there only",
      pid);
}

}  // namespace sampan::sampler
