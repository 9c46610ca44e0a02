#include "sampler/recorder/python_reader.h"

#include <algorithm>
#include <utility>

#include "unwind/python_code.h"
#include "unwind/python_merge.h"

namespace sampan::sampler {
namespace {

// Above those that a shim gives (preload/python/code_table.cpp).
constexpr uint32_t kFirstNumber = 1 << 20;
// As the shim: code objects beyond have no name.
constexpr size_t kMostPythonCodes = 1 << 15;

std::vector<uint8_t> copy_of(const unwind::PythonBytes& bytes, CapturedMemory& memory) {
  std::vector<uint8_t> copy(bytes.size);
  if (!memory.copy(bytes.at, std::as_writable_bytes(std::span(copy)))) copy.clear();
  return copy;
}

}  // namespace

// Numbers the code objects of a walk.
struct PythonReader::Codes {
  PythonReader& reader;
  CapturedMemory& memory;

  unwind::CodeKind find(const unwind::PythonFrame& frame, uint32_t& number) const {
    unwind::CodeObject code{};
    number = 0;
    if (!unwind::read_code(memory, reader.interpreter_->layout, frame.code, code)) {
      return unwind::CodeKind::kUnreadable;
    }
    if (code.is_internal()) return unwind::CodeKind::kInternal;
    const uint64_t identity = unwind::identity_of(frame.code, code);
    auto found = reader.numbers_.find(identity);
    if (found == reader.numbers_.end()) {
      if (reader.numbers_.size() == kMostPythonCodes) return unwind::CodeKind::kFunction;
      found = reader.numbers_.emplace(identity, Number{reader.next_number_++, false}).first;
    }
    Number& known = found->second;
    if (!known.is_named) known.is_named = reader.name(known.number, code, memory);
    number = known.number;
    return unwind::CodeKind::kFunction;
  }
  // Tasks are not read from outside.
  void end_group(uint64_t, uint64_t, uint64_t) const {}
  void clear() const {}
};

PythonReader::PythonReader(pid_t pid) : pid_(pid), next_number_(kFirstNumber) {}

PythonReader::PythonReader(pid_t pid, std::shared_ptr<const PythonInterpreter> interpreter)
    : PythonReader(pid) {
  use(std::move(interpreter));
}

void PythonReader::use(std::shared_ptr<const PythonInterpreter> interpreter) {
  interpreter_ = std::move(interpreter);
  if (has_known()) capture_.emplace(pid_, interpreter_);
}

void PythonReader::look() {
  if (has_known()) return;
  const std::optional<PythonInterpreter> found = find_python(pid_);
  if (found) use(std::make_shared<const PythonInterpreter>(*found));
}

void PythonReader::forget() {
  capture_.reset();
  interpreter_.reset();
  numbers_.clear();
}

void PythonReader::capture(pid_t tid, Avma stack_low, std::span<const std::byte> stack,
                           CapturedPython& captured) {
  captured.states.clear();
  if (capture_) capture_->capture(tid, stack_low, stack, captured);
}

unwind::WalkResult PythonReader::merge(const NativeWalk& native, CapturedPython& captured,
                                       std::span<uint64_t> frames) {
  const unwind::WalkResult& walked = native.result;
  const std::span<const uint64_t> stack = std::span(native.frames).first(walked.depth);
  const bool has_root = walked.stop == wire::StopReason::kRoot;
  if (!captured.states.empty() && has_known()) {
    // A generator's frame in memory behind the stack is no mark of an eval loop.
    if (has_root && !stack.empty()) {
      captured.memory.end_stack(Avma::at(native.cfas[walked.depth - 1]));
    }
    const unwind::NativeStack its_stack{stack, native.cfas.data(), has_root};
    Codes codes{*this, captured.memory};
    // Their texts are here alone, whatever becomes of the stack.
    uint32_t number = 0;
    for (const uint64_t code : captured.new_codes) codes.find({0, code, 0}, number);
    unwind::PythonMerge merge(captured.memory, interpreter_->layout, interpreter_->eval_loop,
                              its_stack, codes, frames);
    if (merge.run(captured.states) &&
        !(captured.has_subinterpreters && merge.has_run_of_others())) {
      return {merge.depth(), walked.stop};
    }
  }
  std::ranges::copy(stack, frames.begin());
  if (captured.states.empty() || !has_root) return walked;
  return {walked.depth, wire::StopReason::kPythonTorn};
}

// False: its texts were not captured.
bool PythonReader::name(uint32_t number, const unwind::CodeObject& code, CapturedMemory& memory) {
  unwind::CodeTexts texts;
  if (!unwind::find_texts(memory, interpreter_->layout, code, texts)) return false;
  PythonCodeRecord record{number, {}};
  record.code.name = python_text(texts.name.width, copy_of(texts.name, memory));
  record.code.file = python_text(texts.file.width, copy_of(texts.file, memory));
  record.code.first_line = code.first_line > 0 ? static_cast<uint32_t>(code.first_line) : 0;
  record.code.lines = {static_cast<wire::PythonLineTable>(texts.line_table.width),
                       copy_of(texts.line_table, memory)};
  new_codes_.push_back(std::move(record));
  return true;
}

}  // namespace sampan::sampler
