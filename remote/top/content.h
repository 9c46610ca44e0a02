// What top shows: the rows, from its history and the user's choices. Independent of a terminal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "profile/profile.h"
#include "profile/weights.h"
#include "remote/top/history.h"

namespace sampan::top {

enum class Look {
  kThreads,
  kFunctions,
  kTree,
  kSandwich,  // one function, its callers above it, its callees below it
};
inline constexpr int kLookCount = 4;

// Time on CPU only, or including waiting time.
enum class Clock { kCpu, kWall };

enum class ThreadSort { kTid, kName, kCpu, kWait, kSamples };
enum class FunctionSort { kSelf, kTotal, kName };

// A thread, or a pool: the threads of a process whose names differ only in the number at their end.
struct Chosen {
  uint32_t process = profile::kNone;  // rows of History::profile()
  uint32_t thread = profile::kNone;
  std::string pool = {};  // if `thread` is kNone
};

struct Choices {
  Look look = Look::kThreads;
  Scope scope = Scope::kWindow;
  Clock clock = Clock::kCpu;
  bool pools = false;                 // one row for the threads of a pool
  bool inverted = false;              // the tree starts at the leaves and leads to the callers
  std::optional<Chosen> chosen = {};  // none: all threads
  ThreadSort thread_sort = ThreadSort::kCpu;
  FunctionSort function_sort = FunctionSort::kSelf;
  bool reversed = false;
  std::string search = {};
  uint32_t focus = profile::kNone;  // the function of the sandwich
  // Nodes that the user opened or closed, by id: whether they are open.
  std::unordered_map<uint64_t, bool> open = {};
};

enum class ThreadState : char {
  kRunning = 'R',  // on CPU
  kQueued = 'Q',   // runnable, waiting for a CPU
  kWaiting = 'S',  // `doing` says in what
  kIdle = '-',     // no sample in the last seconds
  kEnded = 'X',
};

struct ThreadRow {
  uint64_t id = 0;     // stays the same in all refreshes
  Chosen choice = {};  // what it stands for
  int32_t tid = 0;     // for a pool: that of its busiest thread
  std::string name = {};
  std::string process = {};
  uint64_t threads = 1, running = 0;  // threads in the pool; those on CPU
  uint64_t cpu_ns = 0, waiting_ns = 0, queued_ns = 0;
  uint64_t samples = 0;
  ThreadState state = ThreadState::kIdle;  // for a pool: that of its busiest thread
  std::string doing = {};                  // the wait, or the function on CPU
};

struct FunctionRow {
  uint64_t id = 0;
  uint32_t function = profile::kNone;
  std::string name = {};
  std::string module = {};
  profile::Weight self = {}, total = {};              // in the scope
  profile::Weight start_self = {}, start_total = {};  // since the start
};

// A row of a tree or of a sandwich.
struct TreeRow {
  enum class Part { kTree, kCaller, kFunction, kCallee };
  uint64_t id = 0;
  Part part = Part::kTree;
  unsigned depth = 0;  // the number of forks on the way from the root
  uint32_t function = profile::kNone;
  std::string name = {};
  profile::Weight self = {}, total = {};
  bool has_children = false;
  bool is_open = false;
};

// The rows of one look; those of other looks are empty.
struct Content {
  std::vector<ThreadRow> threads;
  std::vector<FunctionRow> functions;
  std::vector<TreeRow> tree;
  profile::Weight total;         // of the chosen threads; shares relate to it
  uint64_t span_ns = 0;          // the time that the rows cover
  uint64_t cpu_ns = 0;           // of all threads in that time
  size_t live = 0, running = 0;  // threads that have not ended; threads on CPU

  size_t size() const { return threads.size() + functions.size() + tree.size(); }
  uint64_t id(size_t row) const;
  const std::string& name(size_t row) const;
};

Content content_of(const History& history, const Choices& choices);

// The name of the chosen threads, for use in messages.
std::string chosen_name(const History& history, const Choices& choices);

}  // namespace sampan::top
