// What the shim knows about its process, and whether it is at work in it.
//
// Freestanding: linked into the target.
#pragma once

#include <atomic>
#include <cstdint>

#include "unwind/walker.h"
#include "wire/loss.h"

namespace sampan::preload {

struct Process {
  std::atomic<bool> started;           // joined a session; the handler is installed
  std::atomic<bool> seccomp_filtered;  // system calls may kill: make none of our own
  int pid;
  int session_pid;              // of the process whose image joined, before any fork
  void* shared;                 // control_block.h
  std::atomic<bool> executing;  // no clock may change its kind: see executing.h
  bool loader_may_be_locked;    // for ever, by a thread that fork() has left behind
  bool follow;                  // children are to be profiled too
  bool sections_only;           // samples are taken while a section is open
  char* fork_marker;            // a byte that reads 0 in a forked child, see process.cpp
};
extern Process this_process;
extern unwind::Walker walker;

// True where the shim does its work. False before start-up, when sampling is off, and in a vfork
// child, which runs in its parent's memory. A child that was forked past our interposers (a raw
// system call) joins here. Not for the handler.
bool active();
// The process runs in the memory of another: a vfork child. Makes a system call.
bool in_vfork_child();

void count_loss(wire::Loss loss);

// Registers what is done around fork().
bool start_process();

}  // namespace sampan::preload
