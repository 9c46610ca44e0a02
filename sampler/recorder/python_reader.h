// The Python frames of one process, read from outside: captures them, puts them into native stacks, as
// the shim does in its process, and numbers and names their code objects.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/address.h"
#include "sampler/process/captured_memory.h"
#include "sampler/process/python_capture.h"
#include "sampler/process/python_interpreter.h"
#include "sampler/recorder/python_code.h"
#include "unwind/python_code.h"
#include "unwind/walker.h"

namespace sampan::sampler {

// A stack that was walked: the frames, leaf first, and their CFAs.
struct NativeWalk {
  std::vector<uint64_t> frames, cfas;  // room for wire::kMaxFrames
  unwind::WalkResult result{};
};

class PythonReader {
 public:
  explicit PythonReader(pid_t pid);
  // With an interpreter that was found before.
  PythonReader(pid_t pid, std::shared_ptr<const PythonInterpreter> interpreter);

  // Looks for an interpreter that is known, if there has been none. Called when modules have changed.
  void look();
  // The process executes another program.
  void forget();

  // Null: there is none that is known.
  std::shared_ptr<const PythonInterpreter> interpreter() const {
    return has_known() ? interpreter_ : nullptr;
  }
  // There is an interpreter that sampan does not know.
  bool is_unknown() const { return interpreter_ != nullptr && !interpreter_->is_known; }

  // For a thread that stands still: see PythonCapture.
  void capture(pid_t tid, Avma stack_low, std::span<const std::byte> stack,
               CapturedPython& captured);

  // What was captured is lost: see PythonCapture.
  void forget_texts() {
    if (capture_) capture_->forget_texts();
  }

  // Puts the Python frames that were captured into `native`. Returns what is in `frames`: where
  // the interpreter's chain of frames is not whole, the native stack alone
  // (StopReason::kPythonTorn).
  unwind::WalkResult merge(const NativeWalk& native, CapturedPython& captured,
                           std::span<uint64_t> frames);
  // The code objects that were met for the first time.
  std::vector<PythonCodeRecord> take_new_codes() { return std::exchange(new_codes_, {}); }

 private:
  struct Codes;
  struct Number {
    uint32_t number;
    bool is_named;
  };

  void use(std::shared_ptr<const PythonInterpreter> interpreter);
  bool has_known() const { return interpreter_ != nullptr && interpreter_->is_known; }
  bool name(uint32_t number, const unwind::CodeObject& code, CapturedMemory& memory);

  pid_t pid_;
  std::shared_ptr<const PythonInterpreter> interpreter_;
  std::optional<PythonCapture> capture_;
  std::unordered_map<uint64_t, Number> numbers_;  // by identity
  uint32_t next_number_;
  std::vector<PythonCodeRecord> new_codes_;
};

}  // namespace sampan::sampler
