#include "remote/top/history.h"

#include <algorithm>

#include "profile/frames.h"
#include "profile/jit_code.h"

namespace sampan::top {
namespace {

using profile::kNone;

// The profiled time that makes the symbolizer inflate small debug information only. It is constant,
// so that a function has the same name whichever slice it is first seen in.
constexpr uint64_t kProfiledNs = 50'000'000;

uint64_t key_of(uint32_t high, uint32_t low) {
  return uint64_t{high} << 32 | low;
}

// The row of `key`, which is added if it is new.
template <typename Map, typename Key, typename Rows, typename Make>
uint32_t interned(Map& map, const Key& key, Rows& rows, Make&& make) {
  const auto [place, is_new] = map.try_emplace(key, static_cast<uint32_t>(rows.size()));
  if (is_new) rows.push_back(make());
  return place->second;
}

// The name of code that was made at run time: elsewhere, or at another time, that address has other
// code.
std::string_view code_name(const profile::Profile& profile, const profile::Location& location) {
  if (location.line_count == 0 || !is_jit(location)) return "";
  return function_name(profile, profile.lines[location.first_line].function);
}

}  // namespace

History::History(uint64_t window_ns, size_t max_stacks)
    : window_ns_(window_ns), max_stacks_(max_stacks) {}

void History::add(const profile::Profile& slice, SessionNs from_ns, SessionNs to_ns) {
  if (to_ns <= from_ns) return;
  profile_.session = slice.session;
  profile_.end = slice.end;
  profile_.rates = slice.rates;
  profile_.losses = slice.losses;
  std::vector<uint32_t> threads;
  add_threads(slice, &threads);

  // After a pause a slice can be longer than the window, which then gets its end.
  const SessionNs recent_ns = to_ns - from_ns > window_ns_ ? to_ns - window_ns_ : from_ns;
  const bool is_long = recent_ns != from_ns;
  Sums sums;
  std::vector<uint32_t> rows(slice.stacks.size(), kNone);
  std::vector<uint32_t> path;
  for (const profile::Sample& sample : slice.samples) {
    const uint32_t thread = threads[sample.thread];
    path.clear();
    uint32_t at = sample.stack;
    for (; at != kNone && rows[at] == kNone; at = slice.stacks[at].prefix) path.push_back(at);
    uint32_t row = at == kNone ? kNone : rows[at];
    for (size_t i = path.size(); i-- > 0;) {
      row = stack_row(row, location_row(slice, slice.stacks[path[i]].location, thread));
      rows[path[i]] = row;
    }
    const profile::Weight weight{sample.weight_ns, 1};
    since_start_[key_of(thread, row)] += weight;
    if (!is_long || sample.time_ns >= recent_ns) sums[key_of(thread, row)] += weight;
    Doing& doing = doing_[thread];
    if (sample.time_ns >= doing.time_ns) {
      const uint32_t wait = sample.wait == kNone ? kNone : wait_row(slice.waits[sample.wait]);
      doing = {sample.time_ns, row, wait};
    }
  }
  slices_.push_back({recent_ns, to_ns, {sums.begin(), sums.end()}});
  while (slices_.size() > 1 && slices_.front().to_ns + window_ns_ <= to_ns) slices_.pop_front();
  covered_ns_ += to_ns - from_ns;
  samples_ += slice.samples.size();
  if (profile_.stacks.size() > max_stacks_ && !frozen_) forget_lightest();
}

void History::add_threads(const profile::Profile& slice, std::vector<uint32_t>* rows) {
  std::vector<uint32_t> processes;
  for (const profile::Process& process : slice.processes) {
    processes.push_back(process_row(process));
  }
  for (const profile::Thread& thread : slice.threads) {
    const uint32_t process = processes[thread.process];
    const std::tuple key(process, thread.tid, thread.start_ns);
    const uint32_t row = interned(threads_, key, profile_.threads, [&] { return thread; });
    profile::Thread& known = profile_.threads[row];
    known.process = process;
    known.name = thread.name;
    known.end_ns = thread.end_ns;
    rows->push_back(row);
  }
  doing_.resize(profile_.threads.size());
}

uint32_t History::process_row(const profile::Process& process) {
  const std::tuple key(process.pid, process.start_ns, process.path);
  const uint32_t row = interned(processes_, key, profile_.processes, [&] { return process; });
  profile_.processes[row] = process;
  return row;
}

uint32_t History::module_row(const profile::Module& module) {
  const std::pair key(module.path, module.build_id);
  return interned(modules_, key, profile_.modules, [&] { return module; });
}

uint32_t History::wait_row(const profile::Wait& wait) {
  const std::tuple key(wait.call, wait.object, wait.held_in);
  return interned(waits_, key, profile_.waits, [&] { return wait; });
}

uint32_t History::location_row(const profile::Profile& slice, uint32_t location, uint32_t thread) {
  const profile::Location& from = slice.locations[location];
  const auto next = static_cast<uint32_t>(profile_.locations.size());
  if (from.wait != kNone) {
    const uint32_t wait = wait_row(slice.waits[from.wait]);
    const auto [place, is_new] = wait_locations_.try_emplace(wait, next);
    if (!is_new) return place->second;
    profile_.locations.push_back({.wait = wait});
  } else {
    const uint32_t module = from.module == kNone ? kNone : module_row(slice.modules[from.module]);
    const uint32_t name = profile_.strings.intern(code_name(slice, from));
    const auto [place, is_new] = locations_.try_emplace({module, from.address, name}, next);
    if (!is_new) return place->second;
    profile_.locations.push_back({.module = module, .address = from.address});
  }
  if (from.line_count != 0) {
    enter_lines(slice, location, next);
  } else {
    name_by_module(next);
    unnamed_.push_back({next, thread});
  }
  return next;
}

uint32_t History::stack_row(uint32_t prefix, uint32_t location) {
  return interned(stacks_, key_of(prefix, location), profile_.stacks, [&] {
    return profile::Stack{prefix, location};
  });
}

// Functions are the same if name and module are, whatever the source of the name. Those of Python
// have no module, and many files have a function of the name.
uint32_t History::function_row(uint32_t name, uint32_t module, uint32_t python_file) {
  return interned(functions_, std::tuple(name, module, python_file), profile_.functions,
                  [&] { return profile::Function{.name = name, .module = module}; });
}

void History::enter_lines(const profile::Profile& from, uint32_t location, uint32_t into) {
  const profile::Location& named = from.locations[location];
  profile::Location& place = profile_.locations[into];
  place.first_line = static_cast<uint32_t>(profile_.lines.size());
  place.line_count = named.line_count;
  const auto text = [&](uint32_t handle) { return profile_.strings.intern(from.strings[handle]); };
  for (uint32_t i = 0; i < named.line_count; ++i) {
    const profile::Line& line = from.lines[named.first_line + i];
    const profile::Function& function = from.functions[line.function];
    const uint32_t file = profile::is_python(named) ? text(function.file) : 0;
    const uint32_t row = function_row(text(function.name), place.module, file);
    profile::Function& known = profile_.functions[row];
    if (known.file == 0) {
      known.file = text(function.file);
      known.line = function.line;
    }
    profile_.lines.push_back({row, text(line.file), line.line, line.column});
  }
}

void History::name_by_module(uint32_t location) {
  profile::Location& place = profile_.locations[location];
  const std::string name =
      place.wait != kNone ? profile::wait_name(profile_.waits[place.wait])
      : place.module == kNone
          ? "[unknown]"
          : "[" + std::string(profile::module_name(profile_, place.module)) + "]";
  place.first_line = static_cast<uint32_t>(profile_.lines.size());
  place.line_count = 1;
  profile_.lines.push_back({function_row(profile_.strings.intern(name), place.module), 0, 0});
}

// Builds a profile of the locations without names. Each is the stack of a sample of its thread,
// because names of generated code depend on the process.
void History::find_names(const Namer& namer) {
  if (unnamed_.empty()) return;
  profile::Profile part;
  part.session = profile_.session;
  part.processes = profile_.processes;
  part.threads = profile_.threads;
  part.modules = profile_.modules;
  part.waits = profile_.waits;
  const uint64_t weight_ns = kProfiledNs / unnamed_.size();
  for (const Unnamed& unnamed : unnamed_) {
    const auto row = static_cast<uint32_t>(part.locations.size());
    profile::Location location = profile_.locations[unnamed.location];
    location.first_line = location.line_count = 0;
    part.locations.push_back(location);
    part.stacks.push_back({kNone, row});
    part.samples.push_back({0, weight_ns, unnamed.thread, row, location.wait, true});
  }
  namer(part);
  for (uint32_t i = 0; i < part.locations.size(); ++i) {
    if (part.locations[i].line_count != 0) enter_lines(part, i, unnamed_[i].location);
  }
  unnamed_.clear();
}

std::vector<profile::WeightedStack> History::current_weights(Scope scope) const {
  Sums window;
  if (scope == Scope::kWindow) {
    for (const Slice& slice : slices_) {
      for (const auto& [key, weight] : slice.sums) window[key] += weight;
    }
  }
  const Sums& sums = scope == Scope::kWindow ? window : since_start_;
  std::vector<profile::WeightedStack> rows;
  rows.reserve(sums.size());
  for (const auto& [key, weight] : sums) {
    rows.push_back({static_cast<uint32_t>(key >> 32), static_cast<uint32_t>(key), weight});
  }
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return key_of(a.thread, a.stack) < key_of(b.thread, b.stack);
  });
  return rows;
}

uint64_t History::current_span_ns(Scope scope) const {
  if (scope == Scope::kStart) return covered_ns_;
  uint64_t span_ns = 0;
  for (const Slice& slice : slices_) span_ns += slice.to_ns - slice.from_ns;
  return span_ns;
}

void History::freeze() {
  frozen_ = Frozen{{current_weights(Scope::kWindow), current_weights(Scope::kStart)},
                   {current_span_ns(Scope::kWindow), current_span_ns(Scope::kStart)},
                   latest_ns(),
                   samples_,
                   doing_};
}

std::vector<profile::WeightedStack> History::weights(Scope scope) const {
  return frozen_ ? frozen_->weights[static_cast<size_t>(scope)] : current_weights(scope);
}

uint64_t History::span_ns(Scope scope) const {
  return frozen_ ? frozen_->span_ns[static_cast<size_t>(scope)] : current_span_ns(scope);
}

SessionNs History::latest_ns() const {
  if (frozen_) return frozen_->latest_ns;
  return slices_.empty() ? SessionNs() : slices_.back().to_ns;
}

uint64_t History::samples() const {
  return frozen_ ? frozen_->samples : samples_;
}

Doing History::doing(uint32_t thread) const {
  if (!frozen_) return doing_[thread];
  return thread < frozen_->doing.size() ? frozen_->doing[thread] : Doing{};
}

// The lighter half of the sums since the start keep their weight, but lose their stacks.
void History::forget_lightest() {
  std::vector<std::pair<uint64_t, uint64_t>> by_weight;  // weight, key
  for (const auto& [key, weight] : since_start_) by_weight.emplace_back(weight.ns, key);
  const auto middle = by_weight.begin() + static_cast<ptrdiff_t>(by_weight.size() / 2);
  std::nth_element(by_weight.begin(), middle, by_weight.end());
  for (auto row = by_weight.begin(); row != middle; ++row) {
    const profile::Weight weight = since_start_[row->second];
    since_start_.erase(row->second);
    since_start_[row->second | UINT32_MAX] += weight;
  }

  // Keeps the stacks that are still used, and those below them, in their order.
  std::vector<bool> used(profile_.stacks.size());
  const auto use = [&](uint64_t key) {
    if (const auto stack = static_cast<uint32_t>(key); stack != kNone) used[stack] = true;
  };
  for (const auto& [key, weight] : since_start_) use(key);
  for (const Slice& slice : slices_) {
    for (const auto& [key, weight] : slice.sums) use(key);
  }
  for (const Doing& doing : doing_) use(doing.stack);
  for (size_t i = used.size(); i-- > 0;) {
    if (used[i] && profile_.stacks[i].prefix != kNone) used[profile_.stacks[i].prefix] = true;
  }
  std::vector<uint32_t> moved(used.size(), kNone);
  const std::vector<profile::Stack> before = std::move(profile_.stacks);
  profile_.stacks.clear();
  stacks_.clear();
  for (size_t i = 0; i < before.size(); ++i) {
    if (!used[i]) continue;
    const uint32_t prefix = before[i].prefix;
    moved[i] = stack_row(prefix == kNone ? kNone : moved[prefix], before[i].location);
  }
  const auto moved_key = [&](uint64_t key) {
    const auto stack = static_cast<uint32_t>(key);
    return stack == kNone ? key : key_of(static_cast<uint32_t>(key >> 32), moved[stack]);
  };
  Sums sums;
  for (const auto& [key, weight] : since_start_) sums[moved_key(key)] += weight;
  since_start_ = std::move(sums);
  for (Slice& slice : slices_) {
    for (auto& row : slice.sums) row.first = moved_key(row.first);
  }
  for (Doing& doing : doing_) {
    if (doing.stack != kNone) doing.stack = moved[doing.stack];
  }
}

}  // namespace sampan::top
