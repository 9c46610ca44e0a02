#include "sampler/waits/sockets.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <optional>
#include <set>
#include <vector>

#include "base/clock.h"
#include "sampler/process/proc_task.h"
#include "sampler/process/proc_text.h"

namespace sampan::sampler {
namespace {

constexpr uint64_t kUsedForNs = 1'000'000'000;
constexpr uint64_t kReadEveryNs = 100'000'000;

struct Endpoint {
  std::string address;  // without its port; "" for any
  unsigned port;
};

struct Connection {
  Endpoint local, remote;
  uint64_t inode;
};

// "0100007F:1F90": the address as 32-bit words of the host's order, the port.
Endpoint parse_endpoint(std::string_view text) {
  const size_t colon = std::min(text.find(':'), text.size());
  uint32_t words[4] = {};
  const size_t count = colon / 8;
  for (size_t i = 0; i < count && i < 4; ++i) {
    std::from_chars(text.data() + 8 * i, text.data() + 8 * i + 8, words[i], 16);
  }
  unsigned port = 0;
  if (colon < text.size()) {
    std::from_chars(text.data() + colon + 1, text.data() + text.size(), port, 16);
  }
  // IPv4 addresses mapped into IPv6: ::ffff:1.2.3.4.
  const bool mapped = count == 4 && words[0] == 0 && words[1] == 0 && words[2] == htonl(0xffff);
  char buffer[INET6_ADDRSTRLEN] = "?";
  if (count == 4 && !mapped) {
    inet_ntop(AF_INET6, words, buffer, sizeof buffer);
    return {fmt::format("[{}]", buffer), port};
  }
  inet_ntop(AF_INET, mapped ? &words[3] : words, buffer, sizeof buffer);
  return {buffer, port};
}

std::string in_words(const Endpoint& endpoint) {
  return fmt::format("{}:{}", endpoint.address, endpoint.port);
}

// Calls visit(line) for all lines but the first, which names the columns.
template <typename Visit>
void for_each_line(std::string_view text, Visit&& visit) {
  for (size_t begin = text.find('\n'); begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin + 1), text.size());
    visit(text.substr(begin, end - begin));
    begin = end;
  }
}

}  // namespace

const std::string& Sockets::name(uint64_t inode) {
  const MonotonicNs now = monotonic_ns();
  const uint64_t age = now - read_ns_;
  const bool known = names_.contains(inode);
  if (read_ns_ == 0 || age > kUsedForNs || (!known && age > kReadEveryNs)) read(now);
  return names_.try_emplace(inode, fmt::format("socket:[{}]", inode)).first->second;
}

void Sockets::read(MonotonicNs now_ns) {
  names_.clear();
  for (const char* protocol : {"tcp", "tcp6", "udp", "udp6"}) read_internet(protocol);
  read_unix();
  read_ns_ = now_ns;
}

// The columns: number, local, remote, state, queues, timer, retransmits, user, timeout, inode.
void Sockets::read_internet(const char* protocol) {
  const std::string text =
      read_whole(fmt::format("{}/net/{}", shared_entries(pid_), protocol)).value_or("");
  std::vector<Connection> connections;
  std::set<unsigned> listening;
  for_each_line(text, [&](std::string_view line) {
    take_word(line);
    Connection connection;
    connection.local = parse_endpoint(take_word(line));
    connection.remote = parse_endpoint(take_word(line));
    for (int i = 0; i < 6; ++i) take_word(line);
    connection.inode = take_number(line);
    if (connection.inode == 0) return;
    if (connection.remote.port == 0) listening.insert(connection.local.port);
    connections.push_back(std::move(connection));
  });
  const std::string_view family = std::string_view(protocol).substr(0, 3);
  for (const Connection& connection : connections) {
    std::string words = fmt::format("{} {}", family, in_words(connection.local));
    if (connection.remote.port != 0) {
      const bool incoming = listening.contains(connection.local.port);
      words += fmt::format(" {} {}", incoming ? "<-" : "->", in_words(connection.remote));
    }
    names_[connection.inode] = std::move(words);
  }
}

// The columns: address, count, protocol, flags, type, state, inode, path.
void Sockets::read_unix() {
  const std::string text = read_whole(shared_entries(pid_) + "/net/unix").value_or("");
  for_each_line(text, [&](std::string_view line) {
    for (int i = 0; i < 6; ++i) take_word(line);
    const uint64_t inode = take_number(line);
    line.remove_prefix(std::min<size_t>(line.find_first_not_of(' '), line.size()));
    if (inode == 0) return;
    names_[inode] = line.empty() ? fmt::format("unix:[{}]", inode) : fmt::format("unix {}", line);
  });
}

}  // namespace sampan::sampler
