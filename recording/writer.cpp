#include "recording/writer.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "recording/format.h"
#include "recording/kept_stacks.h"
#include "recording/living_blocks.h"
#include "recording/row_file.h"
#include "recording/session_rows.h"

namespace sampan::recording {
namespace {

constexpr uint64_t kFlushInterval = 1'000'000'000;  // ns

struct SessionProcess {
  Process row;
  uint64_t earlier_cpu_ns = 0;  // in the segments before
  Losses losses = {};
  uint64_t left_out = 0;                                   // living blocks, of later files
  uint32_t lost_thread = kNone;                            // in place of forgotten ones
  std::optional<WatchChange> watched[kWatchedCount] = {};  // the latest
  std::vector<uint32_t> locks = {};                        // handles
};

struct SessionThread {
  Thread row;                                  // with the session's index of its process
  uint64_t earlier_cpu_ns = 0;                 // in the segments before
  uint64_t cpu_rest_ns = 0, wait_rest_ns = 0;  // remainders of weights, below 1 µs
};

struct SessionLock {
  Lock row;                            // with the session's index of its process
  std::optional<Frame> frame, origin;  // with the session's modules
};

uint64_t without(uint64_t earlier, uint64_t all) {
  return all - std::min(earlier, all);
}

// The part of `all` that was not taken before.
uint64_t take(uint64_t all, uint64_t* taken) {
  const uint64_t rest = without(*taken, all);
  *taken += rest;
  return rest;
}

}  // namespace

void set_file_mode(mode_t mode) {
  new_file_mode = mode;
}

struct Writer::State {
  State(const std::string& path, const Session& its_session, std::span<const Origin> origins)
      : session(its_session),
        file(std::make_unique<RowFile>(path, session, origins, std::nullopt)) {}

  // Rows of the current file by handle; in the first file they are equal.
  uint32_t process(uint32_t index) {
    if (index == kNone) return kNone;
    auto* known = processes.find(index);
    if (known == nullptr) return segment.number == 0 ? index : file->lost_process();
    if (known->in_file == kNone) known->in_file = file->add(known->row, index, known->losses);
    return known->in_file;
  }
  uint32_t thread(uint32_t index) {
    if (index == kNone) return kNone;
    auto* known = threads.find(index);
    if (known == nullptr) return segment.number == 0 ? index : file->lost_thread();
    if (known->in_file == kNone) {
      Thread row = known->row;
      row.process = process(row.process);
      known->in_file = file->add(row, index);
    }
    return known->in_file;
  }
  uint32_t module(uint32_t index) {
    if (index == kNone) return kNone;
    uint32_t& row = module_rows[index];
    if (row == kNone) row = file->add(modules[index]);
    return row;
  }

  uint32_t lock(uint32_t index) {
    auto* known = locks.find(index);
    if (known == nullptr) return segment.number == 0 ? index : file->lost_lock();
    if (known->in_file == kNone) {
      const auto row_of = [&](const std::optional<Frame>& its) {
        return its ? frame(*its, nullptr) : kNone;
      };
      Lock row = known->row;
      row.process = process(row.process);
      row.frame = row_of(known->frame);
      row.origin = row_of(known->origin);
      known->in_file = file->add(row);
    }
    return known->in_file;
  }
  uint32_t frame(const Frame& frame, const FrameName* name) {
    const uint32_t row = file->frame({module(frame.module), frame.address}, name);
    if (kept) kept->add(row, frame);
    if (kept && name != nullptr) kept->name(row, *name);
    return row;
  }
  uint32_t stack(uint32_t prefix, uint32_t frame) {
    const uint32_t row = file->stack(prefix, frame);
    if (kept) kept->add(row, Stack{prefix, frame});
    return row;
  }

  void write(ThreadEnd end) {
    if (auto* known = threads.find(end.thread); known != nullptr && end.cpu_ns) {
      end.cpu_ns = take(*end.cpu_ns, &known->earlier_cpu_ns);
    }
    end.thread = thread(end.thread);
    file->add(end);
  }
  void write(ProcessEnd end) {
    if (auto* known = processes.find(end.process); known != nullptr && end.cpu_ns) {
      end.cpu_ns = take(*end.cpu_ns, &known->earlier_cpu_ns);
    }
    ended_cpu_ns += end.cpu_ns.value_or(0);
    end.process = process(end.process);
    file->add(end);
  }

  template <typename Row>
  void add_marker(std::vector<Row> Markers::*rows, Row row) {
    if constexpr (requires { row.process; }) row.process = process(row.process);
    if constexpr (requires { row.thread; }) row.thread = thread(row.thread);
    if constexpr (requires { row.end_thread; }) row.end_thread = thread(row.end_thread);
    file->add_marker(rows, row);
  }

  // The process of a thread, if its end is still to come.
  uint32_t living_process(uint32_t index) {
    const auto* known = threads.find(index);
    if (known == nullptr) return kNone;
    const auto* its = processes.find(known->row.process);
    return its == nullptr || its->ended ? kNone : known->row.process;
  }
  // The thread, or one in place of it if it is forgotten.
  uint32_t known_thread(uint32_t index, uint32_t process) {
    if (threads.find(index) != nullptr) return index;
    uint32_t& lost = processes.find(process)->lost_thread;
    if (lost == kNone) lost = threads.add({Thread{.process = process, .name = kLostName}}, kNone);
    return lost;
  }
  void write(const Losses& losses) {
    Losses row = losses;
    row.process = process(losses.process);
    file->add(row);
  }

  void begin_file() {
    std::fill(module_rows.begin(), module_rows.end(), kNone);
    if (rate) file->add(at_begin(*rate));
    if (cost) file->add(at_begin(*cost));
    const std::vector<uint32_t> living = processes.begin_file();
    for (const uint32_t index : living) process(index);
    for (const uint32_t index : threads.begin_file()) thread(index);
    locks.begin_file();
    for (const uint32_t index : living) begin_process(index, processes.find(index));
  }
  void begin_process(uint32_t index, SessionProcess* its) {
    for (std::optional<WatchChange>& change : its->watched) {
      if (!change) continue;
      WatchChange row = at_begin(*change);
      row.process = process(index);
      file->add(row);
    }
    if (const uint64_t dropped = blocks.take_dropped(index); dropped > 0) {
      its->losses.process = index;
      its->left_out += dropped;
      its->losses.count[static_cast<unsigned>(wire::Loss::kAllocationLost)] += dropped;
      write(its->losses);
    }
  }

  template <typename Row>
  Row at_begin(Row row) const {
    row.time_ns = segment.begin_ns;
    return row;
  }

  Session session;
  Segment segment;
  std::optional<RateChange> rate;  // the latest
  std::optional<Cost> cost;
  std::unique_ptr<RowFile> file;
  uint64_t samples = 0;       // of the files before
  uint64_t ended_cpu_ns = 0;  // of all ends of processes
  MonotonicNs last_flush_ns = 0;
  SessionRows<SessionProcess> processes;
  SessionRows<SessionThread> threads;
  Interner<Module> modules;
  std::vector<uint32_t> module_rows;  // in the present file, or kNone
  SessionRows<SessionLock> locks;
  std::optional<KeptStacks> kept;
  LivingBlocks blocks;        // if stacks are kept
  std::vector<Frame> frames;  // of the stack that is looked up
};

Writer::Writer(const std::string& path, const Session& session, std::span<const Origin> origins)
    : state_(std::make_unique<State>(path, session, origins)) {}

Writer::~Writer() {
  try {
    flush();
  } catch (...) {
    // A destructor cannot report it; what was flushed before is in the file.
  }
}

uint32_t Writer::add(const Process& process) {
  const uint32_t index = state_->processes.add({.row = process}, kNone);
  auto* known = state_->processes.find(index);
  const bool first = state_->segment.number == 0;
  known->in_file = state_->file->add(process, first ? std::nullopt : std::optional(index));
  return index;
}

uint32_t Writer::add(const Thread& thread) {
  Thread row = thread;
  row.process = state_->process(row.process);
  const uint32_t index = state_->threads.add({thread}, kNone);
  auto* known = state_->threads.find(index);
  const bool first = state_->segment.number == 0;
  known->in_file = state_->file->add(row, first ? std::nullopt : std::optional(index));
  return index;
}

uint32_t Writer::add(const Module& module) {
  const auto [index, is_new] = state_->modules.intern(module);
  if (is_new) state_->module_rows.push_back(state_->file->add(module));
  return index;
}

void Writer::add(const ThreadName& name) {
  ThreadName row = name;
  row.thread = state_->thread(name.thread);
  state_->file->add(row);
  if (auto* known = state_->threads.find(name.thread)) known->row.name = name.name;
}
void Writer::add(const ThreadEnd& end) {
  state_->write(end);
  state_->threads.end(end.thread);
}
void Writer::add(const ProcessEnd& end) {
  state_->write(end);
  if (auto* known = state_->processes.find(end.process)) {
    for (const uint32_t lock : std::exchange(known->locks, {})) state_->locks.end(lock);
  }
  state_->blocks.end(end.process);
  state_->processes.end(end.process);
}
void Writer::account(const ThreadEnd& so_far) {
  state_->write(so_far);
}
void Writer::account(const ProcessEnd& so_far) {
  state_->write(so_far);
}

void Writer::add(const Losses& losses) {
  Losses all = losses;
  if (auto* known = state_->processes.find(losses.process)) {
    all.count[static_cast<unsigned>(wire::Loss::kAllocationLost)] += known->left_out;
    known->losses = all;
  }
  state_->write(all);
}

void Writer::add(const RateChange& change) {
  state_->rate = change;
  state_->file->add(change);
}
void Writer::add(const Cost& cost) {
  state_->cost = cost;
  state_->file->add(cost);
}

void Writer::add(const Sample& sample) {
  Sample row = sample;
  row.thread = state_->thread(sample.thread);
  row.time_ns -= row.time_ns % kTimeUnit;
  uint64_t nowhere = 0;
  auto* known = state_->threads.find(sample.thread);
  uint64_t& rest = known == nullptr       ? nowhere
                   : sample.wait == kNone ? known->cpu_rest_ns
                                          : known->wait_rest_ns;
  const uint64_t weight_ns = sample.weight_ns + rest;
  rest = weight_ns % kWeightUnit;
  row.weight_ns = weight_ns - rest;
  state_->file->add(row);
}

uint32_t Writer::wait(const Wait& wait) {
  return state_->file->wait(wait);
}

void Writer::keep_living() {
  state_->kept.emplace();
}

void Writer::add(const WatchChange& change) {
  WatchChange row = change;
  row.process = state_->process(change.process);
  state_->file->add(row);
  if (auto* known = state_->processes.find(change.process)) {
    known->watched[static_cast<size_t>(change.what)] = change;
  }
}

void Writer::add(const Allocation& allocation) {
  Allocation row = allocation;
  row.thread = state_->thread(allocation.thread);
  state_->file->add(row);
  const uint32_t process = state_->kept ? state_->living_process(allocation.thread) : kNone;
  if (process != kNone) state_->blocks.add(process, allocation);
}

void Writer::add(const Free& free) {
  Free row = free;
  row.thread = state_->thread(free.thread);
  state_->file->add(row);
  const uint32_t process = state_->kept ? state_->living_process(free.thread) : kNone;
  if (process != kNone) state_->blocks.free(process, free.id);
}

uint32_t Writer::add(const Lock& lock) {
  SessionLock its{lock, {}, {}};
  if (state_->kept) {
    its.frame = state_->kept->frame(lock.frame);
    its.origin = state_->kept->frame(lock.origin);
  }
  Lock row = lock;
  row.process = state_->process(lock.process);
  const uint32_t index = state_->locks.add(std::move(its), state_->file->add(row));
  if (auto* known = state_->processes.find(lock.process)) known->locks.push_back(index);
  return index;
}

void Writer::add(const LockWait& wait) {
  LockWait row = wait;
  row.thread = state_->thread(wait.thread);
  row.lock = state_->lock(wait.lock);
  row.holder = state_->thread(wait.holder);
  row.waker = state_->thread(wait.waker);
  state_->file->add(row);
}

uint32_t Writer::context(const TraceContext& context) {
  return context.is_set() ? state_->file->context(context) : kNone;
}

uint32_t Writer::add(const Frame& frame) {
  const uint32_t row = state_->file->add(Frame{state_->module(frame.module), frame.address});
  if (state_->kept) state_->kept->add(row, frame);
  return row;
}

uint32_t Writer::add(const Stack& stack) {
  const uint32_t row = state_->file->add(stack);
  if (state_->kept) state_->kept->add(row, stack);
  return row;
}

uint32_t Writer::frame(const Frame& frame) {
  return state_->frame(frame, nullptr);
}

uint32_t Writer::frame(const Frame& frame, const FrameName& name) {
  return state_->frame(frame, &name);
}

void Writer::rename(uint32_t frame, const FrameName& name) {
  state_->file->name(frame, name);
  if (state_->kept) state_->kept->name(frame, name);
}

void Writer::add(const JitName& name, std::string_view text) {
  JitName row = name;
  row.process = state_->process(name.process);
  state_->file->add(row, text);
  if (state_->kept) state_->kept->name(name, text);
}

uint32_t Writer::stack(uint32_t prefix, uint32_t frame) {
  return state_->stack(prefix, frame);
}

uint32_t Writer::stack(std::span<const Frame> frames) {
  if (state_->kept) {
    uint32_t row = kNone;
    for (auto next = frames.rbegin(); next != frames.rend(); ++next) row = stack(row, frame(*next));
    return row;
  }
  state_->frames.assign(frames.begin(), frames.end());
  for (Frame& frame : state_->frames) frame.module = state_->module(frame.module);
  return state_->file->stack(state_->frames);
}

uint32_t Writer::text(std::string_view text) {
  return state_->file->text(text);
}

void Writer::add(const Span& span) {
  state_->add_marker(&Markers::spans, span);
}
void Writer::add(const Event& event) {
  state_->add_marker(&Markers::events, event);
}
void Writer::add(const CounterValue& value) {
  state_->add_marker(&Markers::counters, value);
}
void Writer::add(const Section& section) {
  state_->add_marker(&Markers::sections, section);
}
void Writer::add(const Pause& pause) {
  state_->add_marker(&Markers::pauses, pause);
}
void Writer::add(const Label& label) {
  state_->add_marker(&Markers::labels, label);
}
void Writer::add(const Step& step) {
  Step row = step;
  row.begin_ns -= row.begin_ns % kTimeUnit;
  row.end_ns -= row.end_ns % kTimeUnit;
  state_->add_marker(&Markers::steps, row);
}

void Writer::tick(MonotonicNs now_ns) {
  if (now_ns - state_->last_flush_ns < kFlushInterval && !state_->file->is_full()) return;
  state_->last_flush_ns = now_ns;
  state_->file->flush();
}

void Writer::flush() {
  state_->file->flush();
}

// Creates the next file before completing this one: if that fails, this one continues.
void Writer::rotate(const std::string& path, SessionNs time_ns) {
  const Segment next{state_->segment.number + 1, time_ns, state_->ended_cpu_ns};
  auto file = std::make_unique<RowFile>(path, state_->session, std::span<const Origin>(), next);
  SessionEnd end;
  end.time_ns = time_ns;
  state_->file->finish(end);
  state_->samples += state_->file->samples();
  state_->segment = next;
  state_->file = std::move(file);
  std::optional<KeptStacks> before = std::exchange(state_->kept, {});
  if (before) keep_living();
  state_->begin_file();
  if (before) write_living(*before);
  state_->file->flush();
}

void Writer::write_living(KeptStacks& before) {
  for (const auto& [process, block] : state_->blocks.rows()) {
    block->thread = state_->known_thread(block->thread, process);
    block->stack = before.copy(block->stack, *this);
    block->earlier = true;
    Allocation row = *block;
    row.thread = state_->thread(block->thread);
    state_->file->add(row);
  }
}

uint64_t Writer::generation() const {
  return state_->segment.number;
}

void Writer::finish(const SessionEnd& end) {
  state_->file->finish(end);
}

uint64_t Writer::samples() const {
  return state_->samples + state_->file->samples();
}

uint64_t Writer::bytes() const {
  return state_->file->bytes();
}

SessionNs Writer::begin_ns() const {
  return state_->segment.begin_ns;
}

const std::string& Writer::path() const {
  return state_->file->path();
}

}  // namespace sampan::recording
