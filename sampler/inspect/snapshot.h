// What all threads of a process do at one moment, for `sampan dump`. Threads that wait are read
// through /proc and are not disturbed. A thread that runs is stopped while its registers and stack
// are copied.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sampler/inspect/deadlocks.h"
#include "sampler/process/module_file.h"
#include "sampler/process/module_map.h"
#include "sampler/recorder/python_code.h"
#include "sampler/waits/wait_reason.h"
#include "wire/loss.h"

namespace sampan::sampler {

struct ThreadSnapshot {
  pid_t tid;
  std::string name;
  char state;                    // as /proc/PID/stat has it: R, S, D, T, t
  WaitReason wait;               // `call` is empty for one that runs or is stopped
  std::vector<uint64_t> frames;  // lookup AVMAs and wire::python_frame(), leaf first
  wire::StopReason stop;         // why they end
  std::string problem;           // why there are none; empty otherwise
  bool wanted;                   // false: nothing but tid, name and state is filled in
};

struct Snapshot {
  std::vector<ThreadSnapshot> threads;  // by tid
  std::vector<ModuleLoadRecord> modules;
  PythonCodes python;                          // what the frames of an interpreter mean
  std::map<uint64_t, std::string> code_names;  // of frames in code made at run time
  std::vector<HiddenFile> hidden;              // of the modules, see module_file.h
  std::vector<std::string> problems;           // of modules
  std::vector<Deadlock> deadlocks;             // of all threads, whichever are wanted
  std::map<pid_t, std::string> names;          // of all threads
  bool has_unknown_python = false;             // native stacks alone, of an interpreter
  uint64_t stopped_ns = 0;                     // sum over the threads that were stopped
};

// Throws Refused when the kernel does not permit it, Error when the process is gone. `wanted`
// chooses the threads.
Snapshot take_snapshot(pid_t pid,
                       const std::function<bool(pid_t tid, const std::string& name)>& wanted);

}  // namespace sampan::sampler
