// What all threads of a process do at one moment: `sampan dump`. Threads that wait are read through
// /proc and are not disturbed; one that runs is stopped for as long as copying its registers and
// stack takes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "attach/module_file.h"
#include "attach/wait_reason.h"
#include "sampler/record_decoder.h"
#include "wire/stop_reason.h"

namespace sampan::attach {

struct ThreadSnapshot {
  pid_t tid;
  std::string name;
  char state;                    // as /proc/PID/stat has it: R, S, D, T, t
  WaitReason wait;               // `call` is empty for one that runs or is stopped
  std::vector<uint64_t> frames;  // lookup AVMAs, leaf first
  wire::StopReason stop;         // why they end
  std::string problem;           // why there are none; empty otherwise
  bool wanted;                   // looked at, that is
};

struct Snapshot {
  std::vector<ThreadSnapshot> threads;  // by tid
  std::vector<sampler::ModuleLoadRecord> modules;
  std::vector<HiddenFile> hidden;     // of the modules, see module_file.h
  std::vector<std::string> problems;  // of modules
  uint64_t stopped_ns = 0;            // sum over the threads that were stopped
};

// Throws Refused when the kernel does not permit it, Error when the process is gone. `wanted` says
// which threads are looked at.
Snapshot take_snapshot(pid_t pid,
                       const std::function<bool(pid_t tid, const std::string& name)>& wanted);

}  // namespace sampan::attach
