#include "recording/writer.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "recording/format.h"
#include "recording/row_file.h"
#include "recording/session_rows.h"

namespace sampan::recording {
namespace {

constexpr uint64_t kFlushInterval = 1'000'000'000;  // ns

struct SessionProcess {
  Process row;
  uint64_t earlier_cpu_ns = 0;  // in the segments before
  Losses losses;
};

struct SessionThread {
  Thread row;                                  // with the session's index of its process
  uint64_t earlier_cpu_ns = 0;                 // in the segments before
  uint64_t cpu_rest_ns = 0, wait_rest_ns = 0;  // remainders of weights, below 1 µs
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

  void begin_file() {
    std::fill(module_rows.begin(), module_rows.end(), kNone);
    if (rate) file->add(at_begin(*rate));
    if (cost) file->add(at_begin(*cost));
    for (const uint32_t index : processes.begin_file()) process(index);
    for (const uint32_t index : threads.begin_file()) thread(index);
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
  std::vector<Frame> frames;          // of the stack that is looked up
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
  const uint32_t index = state_->processes.add({process, 0, {}}, kNone);
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
  state_->processes.end(end.process);
}
void Writer::account(const ThreadEnd& so_far) {
  state_->write(so_far);
}
void Writer::account(const ProcessEnd& so_far) {
  state_->write(so_far);
}

void Writer::add(const Losses& losses) {
  Losses row = losses;
  row.process = state_->process(losses.process);
  if (auto* known = state_->processes.find(losses.process)) known->losses = losses;
  state_->file->add(row);
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

uint32_t Writer::add(const Frame& frame) {
  return state_->file->add(Frame{state_->module(frame.module), frame.address});
}

uint32_t Writer::add(const Stack& stack) {
  return state_->file->add(stack);
}

uint32_t Writer::frame(const Frame& frame) {
  return state_->file->frame({state_->module(frame.module), frame.address});
}

uint32_t Writer::frame(const Frame& frame, const FrameName& name) {
  return state_->file->frame({state_->module(frame.module), frame.address}, &name);
}

void Writer::rename(uint32_t frame, const FrameName& name) {
  state_->file->name(frame, name);
}

void Writer::add(const JitName& name, std::string_view text) {
  JitName row = name;
  row.process = state_->process(name.process);
  state_->file->add(row, text);
}

uint32_t Writer::stack(uint32_t prefix, uint32_t frame) {
  return state_->file->stack(prefix, frame);
}

uint32_t Writer::stack(std::span<const Frame> frames) {
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
  state_->begin_file();
  state_->file->flush();
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
