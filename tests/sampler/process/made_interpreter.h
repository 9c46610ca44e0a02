// The structures of an interpreter of 3.13 in this process, for tests that read them as those of
// another one: an interpreter with threads, one of which runs three functions in two runs of the eval
// loop.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "sampler/process/python_interpreter.h"

namespace sampan::sampler {

class MadeInterpreter {
 public:
  static constexpr size_t kSize = 1 << 17;
  // Places in the memory.
  static constexpr size_t kRuntime = 0x100, kMain = 0x400, kThread = 0x800, kChunk = 0x1000,
                          kCode = 0x2000, kTexts = 0x4000, kStack = 0x18000, kStackSize = 0x1000;
  static constexpr size_t kInnerShim = kStack + 0x200, kOuterShim = kStack + 0x600;
  static constexpr uint64_t kLeafCfa = kStack + 0x100, kInnerCfa = kStack + 0x300,
                            kMiddleCfa = kStack + 0x500, kOuterCfa = kStack + 0x700,
                            kRootCfa = kStack + 0x900;

  MadeInterpreter() : memory_(kSize) {
    interpreter.is_known = true;
    interpreter.layout = *unwind::python_layout(0x030d);
    interpreter.runtime_layout = {.first_interpreter = 16,
                                  .next_interpreter = 24,
                                  .first_thread = 32,
                                  .next_thread = 8,
                                  .thread_id = 152,
                                  .native_thread_id = 160};
    interpreter.runtime = Avma::at(at(kRuntime));
    put(kRuntime + 16, at(kMain));
    add_thread(kThread, gettid());
    const unwind::PythonLayout& layout = interpreter.layout;
    code(kCode, "leaf", "/srv/w.py", 10);
    code(kCode + 0x400, "Service.work", "/srv/w.py", 20);
    code(kCode + 0x800, "<module>", "/srv/w.py", 1);
    put(kThread + layout.thread_frame, at(kChunk));
    frame(kChunk, kCode, kChunk + 0x100);
    frame(kChunk + 0x100, kCode + 0x400, kInnerShim);
    frame(kInnerShim, kCode, kChunk + 0x200);
    frame(kChunk + 0x200, kCode + 0x800, kOuterShim);
    frame(kOuterShim, kCode, 0);
  }

  uint64_t at(size_t place) const { return reinterpret_cast<uint64_t>(memory_.data()) + place; }
  void put(size_t place, uint64_t value, size_t size = 8) {
    std::memcpy(&memory_[place], &value, size);
  }
  std::vector<uint8_t>& memory() { return memory_; }
  std::span<const std::byte> stack() const {
    return std::as_bytes(std::span(memory_).subspan(kStack, kStackSize));
  }

  // A thread state, as the first of the list.
  void add_thread(size_t place, pid_t tid) {
    const uint64_t first = word(kMain + 32);
    put(place, 0);
    put(place + 8, first);
    if (first != 0) put(first - at(0), at(place));
    put(place + 160, static_cast<uint64_t>(tid));
    put(kMain + 32, at(place));
  }
  uint64_t word(size_t place) const {
    uint64_t value = 0;
    std::memcpy(&value, &memory_[place], sizeof value);
    return value;
  }
  void frame(size_t place, size_t code, size_t previous) {
    const unwind::PythonLayout& layout = interpreter.layout;
    put(place + layout.frame_code, at(code));
    put(place + layout.frame_previous, previous != 0 ? at(previous) : 0);
    put(place + layout.frame_instruction, at(code) + layout.code_instructions);
  }
  void code(size_t place, std::string_view name, std::string_view file, uint32_t line) {
    const unwind::PythonLayout& layout = interpreter.layout;
    put(place + layout.code_constants, at(place));
    put(place + layout.code_names, at(place));
    put(place + layout.code_file, text(file));
    put(place + layout.code_name, text(name));
    put(place + layout.code_qualified_name, text(name));
    put(place + layout.code_line_table, text(""));
    put(place + layout.code_first_line, line, 4);
  }
  // A string, on a page of its own; as bytes, an empty one.
  uint64_t text(std::string_view characters) {
    const size_t place = next_text_;
    next_text_ += 0x1000;
    put(place + 16, characters.size());
    put(place + 24, next_text_);       // its hash
    put(place + 32, 1 << 2 | 3 << 5);  // compact, ASCII, of one byte
    std::memcpy(&memory_[place + interpreter.layout.string_ascii], characters.data(),
                characters.size());
    return at(place);
  }

  PythonInterpreter interpreter;

 private:
  static pid_t gettid() { return static_cast<pid_t>(syscall(SYS_gettid)); }

  std::vector<uint8_t> memory_;
  size_t next_text_ = kTexts;
};

}  // namespace sampan::sampler
