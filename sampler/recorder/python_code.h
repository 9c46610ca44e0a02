// What the shim says of the code objects of an interpreter (wire::RecordType::kPythonCode), and what
// their frames in samples mean: function, file, line and column.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "recording/names.h"
#include "sampler/recorder/python_lines.h"

namespace sampan::sampler {

struct PythonCode {
  std::string name;  // qualified
  std::string file;
  uint32_t first_line = 0;
  PythonLines lines;
};

struct PythonCodeRecord {
  uint32_t number;
  PythonCode code;
};
// Text of an interpreter, in UTF-8. `width`: bytes of a character; 0: ASCII.
std::string python_text(uint8_t width, std::span<const uint8_t> bytes);
std::optional<PythonCodeRecord> decode_python_code(std::span<const uint8_t> payload);

// A task of asyncio, under a number that its thread's samples have from then on.
struct PythonTask {
  uint64_t id = 0;
  std::string name;
  std::string coroutine;  // qualified
};
struct PythonTaskRecord {
  uint8_t number;
  PythonTask task;
};
std::optional<PythonTaskRecord> decode_python_task(std::span<const uint8_t> payload);

// The number of a frame's code object (wire::python_frame); 0: it has none.
uint32_t python_number(uint64_t frame);

// The code objects of one process.
class PythonCodes {
 public:
  void add(PythonCodeRecord record) { codes_[record.number] = std::move(record.code); }
  bool knows(uint64_t frame) const;
  // Also its lines.
  bool knows_all(uint64_t frame) const;
  // A frame of a sample (wire::is_python_frame) that is known.
  recording::FrameName name(uint64_t frame) const;

 private:
  std::unordered_map<uint32_t, PythonCode> codes_;
};

// The row of a frame with this name: without a module, at an address that depends on the name alone.
// So it is the same in all processes and recordings.
recording::Frame python_frame_row(const recording::FrameName& name);

}  // namespace sampan::sampler
