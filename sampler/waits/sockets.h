// Describes the sockets of a process's network namespace, from
// /proc/PID/net/{tcp,tcp6,udp,udp6,unix} (proc_pid_net(5)).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "base/time.h"

namespace sampan::sampler {

class Sockets {
 public:
  explicit Sockets(pid_t pid) : pid_(pid) {}

  // "tcp 127.0.0.1:6379 <- 127.0.0.1:51234" for a connection that was accepted, "->" for one that
  // the process made; "tcp 0.0.0.0:6379" for a listening socket; "udp [::]:53";
  // "unix /run/x.sock"; "socket:[4711]" for any other. The tables are read at most ten times a
  // second, and their content is used for a second.
  const std::string& name(uint64_t inode);

 private:
  void read(MonotonicNs now_ns);
  void read_internet(const char* protocol);
  void read_unix();

  pid_t pid_;
  MonotonicNs read_ns_ = 0;
  std::unordered_map<uint64_t, std::string> names_;  // by inode
};

}  // namespace sampan::sampler
