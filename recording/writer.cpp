#include "recording/writer.h"

#include <optional>
#include <utility>

#include "recording/format.h"
#include "recording/writer_state.h"

namespace sampan::recording {
namespace {

constexpr uint64_t kFlushInterval = 1'000'000'000;  // ns

}  // namespace

void set_file_mode(mode_t mode) {
  new_file_mode = mode;
}

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
