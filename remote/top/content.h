// The rows that top shows, from what it has seen and what was chosen. Nothing of a terminal in it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/weights.h"
#include "top/choices.h"
#include "top/history.h"

namespace sampan::top {

enum class ThreadState : char {
  kRunning = 'R',  // on CPU
  kQueued = 'Q',   // it could run, and has no CPU
  kWaiting = 'S',  // in what `doing` says
  kIdle = '-',     // no sample in the last seconds
  kEnded = 'X',
};

struct ThreadRow {
  uint64_t id = 0;     // the same at every refresh
  Chosen choice = {};  // what it stands for
  int32_t tid = 0;     // of a pool: of its busiest thread
  std::string name = {};
  std::string process = {};
  uint64_t threads = 1, running = 0;  // of a pool, how many; of these, how many are on CPU
  uint64_t cpu_ns = 0, waiting_ns = 0, queued_ns = 0;
  uint64_t samples = 0;
  ThreadState state = ThreadState::kIdle;  // of a pool: of its busiest thread
  std::string doing = {};                  // the wait, or the function on CPU
};

struct FunctionRow {
  uint64_t id = 0;
  uint32_t function = profile::kNone;
  std::string name = {};
  std::string module = {};
  profile::Weight self = {}, total = {};              // of the scope
  profile::Weight start_self = {}, start_total = {};  // since the start
};

// Of a tree, or of a sandwich.
struct TreeRow {
  enum class Part { kTree, kCaller, kFunction, kCallee };
  uint64_t id = 0;
  Part part = Part::kTree;
  unsigned depth = 0;  // how often the way to it has forked
  uint32_t function = profile::kNone;
  std::string name = {};
  profile::Weight self = {}, total = {};
  bool has_children = false;
  bool is_open = false;
};

// The rows of one look; the others have none.
struct Content {
  std::vector<ThreadRow> threads;
  std::vector<FunctionRow> functions;
  std::vector<TreeRow> tree;
  profile::Weight total;         // of what was chosen: what shares are shares of
  uint64_t span_ns = 0;          // how much time was looked at
  uint64_t cpu_ns = 0;           // that all threads used in it
  size_t live = 0, running = 0;  // threads: those that have not ended, and those on CPU

  size_t size() const { return threads.size() + functions.size() + tree.size(); }
  uint64_t id(size_t row) const;
  const std::string& name(size_t row) const;
};

Content content_of(const History& history, const Choices& choices);

// Of something that may have been merged: the name of what was chosen.
std::string chosen_name(const History& history, const Choices& choices);

}  // namespace sampan::top
