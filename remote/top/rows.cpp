#include "remote/top/rows.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "profile/flat.h"
#include "profile/frames.h"
#include "profile/python_modules.h"
#include "profile/view.h"

namespace sampan::top {
namespace {

using profile::kNone;

constexpr uint64_t kPool = uint64_t{1} << 63;
// A wait in progress is written once a second, and so is seen in the second after it.
constexpr uint64_t kRecent = 2'500'000'000;

// The leaf function of a stack; the name of the wait if the thread waits.
std::string leaf_name(const profile::Profile& profile, uint32_t stack) {
  if (stack == kNone) return "";
  std::string name;
  profile::for_each_frame(profile, profile.stacks[stack].location,
                          [&](const profile::Frame& frame) {
                            if (name.empty())
                              name = profile::function_name(profile, frame.function);
                          });
  return name;
}

ThreadState state_of(const History& history, uint32_t thread) {
  const profile::Profile& profile = history.profile();
  if (profile.threads[thread].end_ns) return ThreadState::kEnded;
  const Doing doing = history.doing(thread);
  if (doing.time_ns + kRecent < history.latest_ns()) return ThreadState::kIdle;
  if (doing.wait == kNone) return ThreadState::kRunning;
  return profile.is_runnable(doing.wait) ? ThreadState::kQueued : ThreadState::kWaiting;
}

ThreadRow row_of_thread(const History& history, uint32_t thread) {
  const profile::Thread& known = history.profile().threads[thread];
  return {.id = thread,
          .choice = {known.process, thread},
          .tid = known.tid,
          .name = known.name,
          .process = history.profile().processes[known.process].name,
          .state = known.end_ns ? ThreadState::kEnded : ThreadState::kIdle};
}

void add(const profile::Profile& profile, const profile::WeightedStack& weight, ThreadRow* row) {
  const uint32_t wait = waits(profile, weight.stack)
                            ? profile.locations[profile.stacks[weight.stack].location].wait
                            : kNone;
  uint64_t& sum = wait == kNone               ? row->cpu_ns
                  : profile.is_runnable(wait) ? row->queued_ns
                                              : row->waiting_ns;
  sum += weight.weight.ns;
  row->samples += weight.weight.samples;
}

std::vector<ThreadRow> in_pools(std::vector<ThreadRow> threads) {
  std::map<std::pair<uint32_t, std::string>, ThreadRow> pools;
  std::map<std::pair<uint32_t, std::string>, uint64_t> busiest_ns;
  for (ThreadRow& row : threads) {
    const std::pair key(row.choice.process, profile::pool_name(row.name));
    const auto [place, is_new] = pools.try_emplace(key, row);
    ThreadRow& pool = place->second;
    if (is_new) {
      busiest_ns[key] = row.cpu_ns;
      continue;
    }
    if (row.cpu_ns > busiest_ns[key]) {
      busiest_ns[key] = row.cpu_ns;
      pool.tid = row.tid;
      pool.state = row.state;
      pool.doing = row.doing;
    }
    pool.id = std::min(pool.id, row.id);
    pool.name = key.second;
    ++pool.threads;
    pool.running += row.running;
    pool.cpu_ns += row.cpu_ns;
    pool.waiting_ns += row.waiting_ns;
    pool.queued_ns += row.queued_ns;
    pool.samples += row.samples;
  }
  std::vector<ThreadRow> rows;
  for (auto& [key, pool] : pools) {
    if (pool.threads > 1) {
      pool.id |= kPool;
      pool.choice = {key.first, kNone, key.second};
    }
    rows.push_back(std::move(pool));
  }
  std::sort(rows.begin(), rows.end(), [](const ThreadRow& a, const ThreadRow& b) {
    return (a.id & ~kPool) < (b.id & ~kPool);
  });
  return rows;
}

// Whether `a` comes before `b`. Numbers are in descending order.
bool before(const ThreadRow& a, const ThreadRow& b, ThreadSort by) {
  switch (by) {
    case ThreadSort::kTid: return a.tid < b.tid;
    case ThreadSort::kName: return a.name < b.name;
    case ThreadSort::kCpu: return a.cpu_ns > b.cpu_ns;
    case ThreadSort::kWait: return a.waiting_ns > b.waiting_ns;
    case ThreadSort::kSamples: return a.samples > b.samples;
  }
  return false;
}

using profile::FlatRow;

FunctionRow named_row(const profile::Profile& profile, const FlatRow& row) {
  FunctionRow result;
  result.id = result.function = row.function;
  result.name = profile::function_name(profile, row.function);
  const bool in_module = row.module != profile::kNone;
  result.module =
      in_module
          ? std::string(profile::module_name(profile, row.module))
          : std::string(profile::file_name(profile::python_module(profile.strings[row.file])));
  return result;
}

bool before(const FunctionRow& a, const FunctionRow& b, FunctionSort by) {
  switch (by) {
    case FunctionSort::kSelf: return a.self.ns > b.self.ns;
    case FunctionSort::kTotal: return a.total.ns > b.total.ns;
    case FunctionSort::kName: return a.name < b.name;
  }
  return false;
}

}  // namespace

std::vector<ThreadRow> thread_rows(const History& history, const Choices& choices,
                                   std::span<const profile::WeightedStack> weights) {
  const profile::Profile& profile = history.profile();
  std::vector<ThreadRow> rows;
  for (uint32_t i = 0; i < profile.threads.size(); ++i) {
    rows.push_back(row_of_thread(history, i));
  }
  for (const profile::WeightedStack& weight : weights) add(profile, weight, &rows[weight.thread]);
  std::erase_if(rows, [](const ThreadRow& row) {
    return row.state == ThreadState::kEnded && row.samples == 0;
  });
  for (ThreadRow& row : rows) {
    if (row.samples == 0 || row.state == ThreadState::kEnded) continue;
    const uint32_t thread = row.choice.thread;
    row.state = state_of(history, thread);
    row.running = row.state == ThreadState::kRunning;
    if (row.state != ThreadState::kIdle) {
      row.doing = leaf_name(profile, history.doing(thread).stack);
    }
  }
  if (choices.pools) rows = in_pools(std::move(rows));
  std::stable_sort(rows.begin(), rows.end(), [&](const ThreadRow& a, const ThreadRow& b) {
    return choices.reversed ? before(b, a, choices.thread_sort) : before(a, b, choices.thread_sort);
  });
  return rows;
}

std::vector<FunctionRow> function_rows(const profile::Profile& profile, const Choices& choices,
                                       std::span<const profile::WeightedStack> stacks,
                                       std::span<const profile::WeightedStack> since_start) {
  std::vector<FunctionRow> rows;
  std::unordered_map<uint32_t, size_t> row_of;  // by function
  for (const FlatRow& flat : profile::flat_table(profile, since_start)) {
    row_of[flat.function] = rows.size();
    FunctionRow row = named_row(profile, flat);
    row.start_self = flat.self;
    row.start_total = flat.total;
    rows.push_back(std::move(row));
  }
  for (const FlatRow& flat : profile::flat_table(profile, stacks)) {
    const auto found = row_of.find(flat.function);
    if (found == row_of.end()) continue;  // its stack was forgotten
    rows[found->second].self = flat.self;
    rows[found->second].total = flat.total;
  }
  std::stable_sort(rows.begin(), rows.end(), [&](const FunctionRow& a, const FunctionRow& b) {
    return choices.reversed ? before(b, a, choices.function_sort)
                            : before(a, b, choices.function_sort);
  });
  return rows;
}

}  // namespace sampan::top
