// What the person who looks has chosen to see.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "profile/profile.h"
#include "top/history.h"

namespace sampan::top {

enum class Look {
  kThreads,
  kFunctions,
  kTree,
  kSandwich,  // one function, its callers above, its callees below
};
inline constexpr int kLookCount = 4;

// What time is looked at: that on CPU, or waiting too.
enum class Clock { kCpu, kWall };

enum class ThreadSort { kTid, kName, kCpu, kWait, kSamples };
enum class FunctionSort { kSelf, kTotal, kName };

// A thread, or a pool: those of a process whose names differ only in the number at their end.
struct Chosen {
  uint32_t process = profile::kNone;  // rows of History::profile()
  uint32_t thread = profile::kNone;
  std::string pool = {};  // where the thread is kNone
};

struct Choices {
  Look look = Look::kThreads;
  Scope scope = Scope::kWindow;
  Clock clock = Clock::kCpu;
  bool pools = false;                 // threads of a pool in one row
  bool inverted = false;              // the tree: from where time was spent up to the callers
  std::optional<Chosen> chosen = {};  // nothing: all threads
  ThreadSort thread_sort = ThreadSort::kCpu;
  FunctionSort function_sort = FunctionSort::kSelf;
  bool reversed = false;
  std::string search = {};
  uint32_t focus = profile::kNone;  // the sandwich's function
  // Of nodes that were opened or closed by hand, by id: whether they are open.
  std::unordered_map<uint64_t, bool> open = {};
};

}  // namespace sampan::top
