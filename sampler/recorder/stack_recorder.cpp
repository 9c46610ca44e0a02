#include "sampler/recorder/stack_recorder.h"

#include <algorithm>
#include <atomic>
#include <tuple>
#include <utility>

#include "base/interner.h"
#include "wire/deep_stack.h"
#include "wire/record.h"

namespace sampan::sampler {

StackRecorder::StackRecorder(recording::Writer& writer)
    : writer_(writer), number_([] {
        static std::atomic<uint64_t> made = 0;
        return ++made;
      }()) {}

void StackRecorder::load(const ModuleLoadRecord& record) {
  recording::Module module;
  module.path = record.path;
  module.build_id = record.build_id;
  module.svma_begin = svma_of(record.start_avma, record.bias);
  module.svma_end = svma_of(record.end_avma, record.bias);
  modules_.load(record, writer_.add(module));
  frames_.clear();
}

void StackRecorder::unload(const ModuleUnloadRecord& record) {
  modules_.unload(record);
  frames_.clear();
}

uint32_t StackRecorder::row(Previous& previous, std::span<const uint64_t> stack, size_t shared,
                            MonotonicNs time_ns) {
  follow_file();
  met_unknown_code_ = false;
  // A sample from before the latest change may see other modules than later ones.
  const bool settled = time_ns >= modules_.last_change_ns();
  if (!settled || !previous.all_known || previous.changes != modules_.changes() ||
      previous.generation != generation_) {
    shared = 0;
  }
  shared = std::min({shared, previous.rows.size(), stack.size()});
  previous.rows.resize(shared);
  previous.changes = settled ? modules_.changes() : 0;
  previous.generation = generation_;
  previous.all_known = true;
  uint32_t row = shared > 0 ? previous.rows.back() : recording::kNone;
  for (const uint64_t frame : stack.subspan(shared)) {
    if (wire::is_python_frame(frame) && !python_.knows_all(frame)) previous.all_known = false;
    row = writer_.stack(row, wire::is_python_frame(frame) ? python_row(frame)
                                                          : frame_row(Avma::at(frame), time_ns));
    previous.rows.push_back(row);
  }
  return row;
}

uint32_t StackRecorder::code_row(Avma avma, MonotonicNs time_ns) {
  follow_file();
  return frame_row(avma, time_ns);
}

uint32_t StackRecorder::data_row(Avma avma, MonotonicNs time_ns) {
  const recording::Frame frame = modules_.lookup(avma, time_ns);
  return frame.module == recording::kNone ? recording::kNone : writer_.frame(frame);
}

void StackRecorder::follow_file() {
  if (generation_ == writer_.generation()) return;
  generation_ = writer_.generation();
  frames_.clear();
  provisional_.clear();
  unknown_.clear();
}

void StackRecorder::add(PythonCodeRecord record) {
  const uint32_t number = record.number;
  python_.add(std::move(record));
  follow_file();
  const auto waiting = provisional_.find(number);
  if (waiting == provisional_.end()) return;
  bool knows_all = true;
  for (const auto& [frame, row] : waiting->second) {
    writer_.rename(row, python_.name(frame));
    knows_all = python_.knows_all(frame);
  }
  if (knows_all) provisional_.erase(waiting);
}

uint32_t StackRecorder::frame_row(Avma avma, MonotonicNs time_ns) {
  const auto look_up = [&] {
    const recording::Frame frame = modules_.lookup(avma, time_ns);
    const uint32_t row = writer_.frame(frame);
    if (frame.module == recording::kNone && !wire::is_no_code(avma)) {
      met_unknown_code_ = true;
      unknown_.push_back({avma, row});
    }
    return row;
  };
  if (time_ns < modules_.last_change_ns()) return look_up();
  const auto [found, is_new] = frames_.try_emplace(avma);
  if (is_new) found->second = look_up();
  return found->second;
}

// The row is this process's own, for it gets the name that the number has in this process.
uint32_t StackRecorder::provisional_row(uint64_t frame) {
  const uint32_t code = python_number(frame);
  const uint64_t own = code == 0 ? 0 : hash_of(std::tuple(number_, frame));
  const recording::FrameName name =
      python_.knows(frame) ? python_.name(frame) : recording::FrameName{"[python]", "", 0, 0};
  const uint32_t row = writer_.frame(
      {recording::kNone, wire::kPythonFrame | (own & (wire::kPythonFrame - 1))}, name);
  if (code != 0) provisional_[code].try_emplace(frame, row);
  return row;
}

uint32_t StackRecorder::python_row(uint64_t frame) {
  if (!python_.knows_all(frame)) return provisional_row(frame);
  const auto [found, is_new] = frames_.try_emplace(frame);
  if (is_new) {
    const recording::FrameName name = python_.name(frame);
    found->second = writer_.frame(python_frame_row(name), name);
  }
  return found->second;
}

}  // namespace sampan::sampler
