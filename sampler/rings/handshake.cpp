#include "sampler/rings/handshake.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/error.h"
#include "wire/control_block.h"

namespace sampan::sampler {
namespace {

constexpr int kBacklog = 4096;  // a storm of forks connects faster than we accept

// The limit counts for memory files, too.
wire::MemoryShape permitted_shape(uint32_t slots) {
  rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
  getrlimit(RLIMIT_FSIZE, &limit);
  return wire::shape_within(limit.rlim_cur, slots);
}

}  // namespace

SharedMemory::SharedMemory(uint32_t slots)
    : fd_(memfd_create("sampan", MFD_CLOEXEC | MFD_ALLOW_SEALING)), shape_(permitted_shape(slots)) {
  if (shape_.slots == 0) {
    throw Error(
        "the limit on file sizes (ulimit -f) has no room for the memory shared with the program");
  }
  const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (!fd_ || ftruncate(fd_.get(), static_cast<off_t>(shape_.size())) != 0 ||
      fcntl(fd_.get(), F_ADD_SEALS, seals) != 0) {
    throw Error("creating the memory shared with the program: {}", std::strerror(errno));
  }
  constexpr int kAccess = PROT_READ | PROT_WRITE;
  base_ = mmap(nullptr, shape_.mapped_size(), kAccess, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
               -1, 0);
  if (base_ == MAP_FAILED ||
      mmap(base_, shape_.size(), kAccess, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd_.get(), 0) ==
          MAP_FAILED) {
    throw Error("mapping the memory shared with the program: {}", std::strerror(errno));
  }
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : fd_(std::move(other.fd_)), shape_(other.shape_), base_(std::exchange(other.base_, nullptr)) {}

SharedMemory::~SharedMemory() {
  if (base_ != nullptr) munmap(base_, shape_.mapped_size());
}

std::string SessionSocket::random_name() {
  uint64_t random[2];
  if (getrandom(random, sizeof random, 0) != sizeof random) {
    throw Error("naming the session: getrandom: {}", std::strerror(errno));
  }
  return fmt::format("sampan-{:016x}{:016x}", random[0], random[1]);
}

SessionSocket::SessionSocket(const std::string& name)
    : socket_(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // Abstract: the name begins with a zero byte and is in no file system.
  if (name.empty() || name.size() + 1 > sizeof address.sun_path) {
    throw Error("session name '{}': must have 1 to {} characters", name,
                sizeof address.sun_path - 1);
  }
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (!socket_ || bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(socket_.get(), kBacklog) != 0) {
    throw Error("opening the session {}: {}", name, std::strerror(errno));
  }
}

std::optional<Peer> SessionSocket::accept() {
  errno = 0;
  FileDescriptor connection(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  ucred who{};
  socklen_t size = sizeof who;
  if (!connection || getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) != 0 ||
      who.pid <= 0) {
    return std::nullopt;
  }
  // A server that root has started may have dropped its rights since, so root accepts everybody.
  const bool trusted = who.uid == geteuid() || who.uid == 0 || geteuid() == 0;
  if (!trusted) return std::nullopt;
  return Peer{std::move(connection), who.pid};
}

std::optional<wire::Hello> receive_hello(const Peer& peer) {
  wire::Hello hello{};
  const ssize_t size = recv(peer.connection.get(), &hello, sizeof hello, MSG_TRUNC);
  if (size != sizeof hello || hello.version != wire::kWireVersion ||
      hello.slots > wire::kMostSlots || (hello.slots == 0 && hello.ending == 0)) {
    return std::nullopt;
  }
  return hello;
}

bool send_welcome(const Peer& peer, const wire::Welcome& welcome, int memory_fd) {
  iovec data{const_cast<wire::Welcome*>(&welcome), sizeof welcome};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (memory_fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &memory_fd, sizeof memory_fd);
  }
  return sendmsg(peer.connection.get(), &message, MSG_NOSIGNAL) == sizeof welcome;
}

}  // namespace sampan::sampler
