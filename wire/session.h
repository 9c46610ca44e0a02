// How a process joins a session. The collector listens on an abstract SOCK_SEQPACKET socket whose
// name is in the environment. The shim connects when the process starts (and after fork), sends a
// Hello, receives a Welcome with the memfd of control_block.h as SCM_RIGHTS, maps it, and closes
// both descriptors. Nothing of the session stays in the target's descriptor table.
//
// The kernel tells each side who the other is (SO_PEERCRED). The collector takes the pid from there;
// the shim refuses a collector that belongs to neither its own user nor root. The collector notices
// the end of a process by a pidfd.
//
// Freestanding: linked into the target.
#pragma once

#include <cstdint>

#include "wire/control_block.h"

namespace sampan::wire {

// The environment variables between launcher and shim. All are documented in docs/design.md.
inline constexpr const char* kEnvironmentEnable = "SAMPAN";           // "1": profile this process
inline constexpr const char* kEnvironmentSession = "SAMPAN_SESSION";  // the socket's name
inline constexpr const char* kEnvironmentFollow = "SAMPAN_FOLLOW";    // "0": not its children

struct Hello {
  uint32_t version;    // kWireVersion
  uint32_t slots;      // that the memory is to have, or fewer
  int32_t parent_pid;  // getppid()
  uint32_t forked;     // 1 after fork, 0 for a new image
  uint32_t paused;     // 1: sampling was off in the process that forked
  uint32_t ending;     // 1: it has joined before, and ends; see Welcome::waits_at_end
};

struct Welcome {
  uint32_t version = 0;
  uint32_t accepted = 0;  // 0: not to be profiled (--no-follow, another session); no memfd follows
  uint32_t follow = 0;    // 1: children are to be profiled too
  uint32_t sections_only = 0;  // 1: samples are taken while a section is open
  uint32_t python = 0;         // 1: stacks have the frames of an interpreter, too
  uint32_t perf = 0;           // 1: perf_event_open may be called
  // 1: the collector may end with this process, because their PID namespace does. The process connects once more when it
  // ends, says so, and waits until the connection is closed: then everything is in the recording.
  uint32_t waits_at_end = 0;
};

// "sampan-" and 32 hexadecimal digits: random, so that a name cannot be guessed.
inline constexpr uint32_t kSessionNameSize = 39;

}  // namespace sampan::wire
