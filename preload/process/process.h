// What the shim knows about its process, whether it is active in it, and what it tells the collector
// about the process as a whole.
//
// Freestanding: linked into the target.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "wire/control_block.h"
#include "wire/loss.h"
#include "wire/record.h"

namespace sampan::preload {

struct Process {
  std::atomic<bool> started;           // a session is joined and the signal handler is installed
  std::atomic<bool> seccomp_filtered;  // a system call of ours may kill the process: make none
  std::atomic<bool> unseen_filter;     // one of its seccomp filters went in past the interposers
  bool born_filtered;                  // it had one before main
  int pid;
  int session_pid;              // of the process whose image joined, before any fork
  void* shared;                 // wire/control_block.h
  wire::MemoryShape shape;      // of it
  std::atomic<bool> executing;  // an exec is under way: no clock may change its kind
  bool loader_may_be_locked;    // for ever, by a thread that does not exist after a fork
  bool follow;                  // children are to be profiled too
  bool python;                  // stacks have the frames of an interpreter, too
  bool perf;                    // perf_event_open may be called
  bool sections_only;           // samples are taken only while a section is open
  bool waits_at_end;            // until the collector has what there is (wire/session.h)
  char* fork_marker;            // a byte that reads 0 in a forked child
  void (*join_in_child)();  // in a forked child: joins the session (interposers/process_life.cpp)
};
extern Process this_process;

// Whether the shim is at work here. False before start-up, when sampling is off, and in a vfork
// child, which runs in its parent's memory. In a child that was forked by a raw system call, past
// our interposers, the first call joins the session. Not for the signal handler.
bool active();
// Whether this process runs in the memory of another, as a vfork child. Makes a system call.
bool in_vfork_child();

// seccomp_filtered, after a look for filters that an inline system call has put in. A filter may forbid the call that asks the
// kernel, too: then the shim's next call would be no safer. Async-signal-safe.
bool under_filter();

// Async-signal-safe.
void count_loss(wire::Loss loss, uint64_t count = 1);

// The process ring: records about the whole process, written in ordinary context by any thread.
// Also in a forked child, which has a new one.
void start_process_ring();
// Writes a record: the time, `fields`, `text`. False when it does not fit or the lock cannot be had
// soon: then it is dropped, and `loss` is counted.
bool write_process_record(wire::RecordType type, std::span<const uint8_t> fields,
                          std::span<const char> text, wire::Loss loss);

}  // namespace sampan::preload
