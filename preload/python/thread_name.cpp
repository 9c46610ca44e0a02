#include "preload/python/thread_name.h"

#include <cstring>
#include <string_view>

#include "preload/python/interpreter.h"
#include "preload/python/python_memory.h"
#include "unwind/python_frame.h"
#include "unwind/python_text.h"

namespace sampan::preload {
namespace {

// The same in all versions that have a layout: PyObject, PyTypeObject, PyDictKeysObject.
constexpr uint64_t kObjectType = 8;
constexpr uint64_t kTypeBasicSize = 32;
constexpr uint64_t kKeysIndexSize = 9;  // log2, bytes
constexpr uint64_t kKeysKind = 10;
constexpr uint8_t kSplitKeys = 2;  // names without values, shared by the objects of a type
constexpr uint64_t kKeysCount = 24;
constexpr uint64_t kKeysIndexes = 32;
constexpr uint64_t kMostKeys = 64;
constexpr uint64_t kKeySize = 16;
constexpr uint8_t kMostIndexSize = 8;

class Reader {
 public:
  Reader(PythonMemory& memory, const unwind::PythonLayout& layout)
      : memory_(memory), layout_(layout) {}

  // 0: none.
  uint64_t word(uint64_t at) {
    uint64_t value = 0;
    return at != 0 && memory_.read(at, value) ? value : 0;
  }

  bool is(uint64_t string, std::string_view expected) {
    unwind::PythonBytes text;
    return string != 0 && unwind::find_text(memory_, layout_, string, expected.size() + 1, text) &&
           text.width == 0 && text.size == expected.size() &&
           std::memcmp(reinterpret_cast<const void*>(text.at), expected.data(), text.size) == 0;
  }

  // The `self` of Thread.start(), if that is what the thread runs; else 0.
  uint64_t thread_object(uint64_t thread) {
    const uint64_t frame = layout_.thread_frame != 0
                               ? word(thread + layout_.thread_frame)
                               : word(word(thread + layout_.thread_cframe) + layout_.cframe_frame);
    const uint64_t code = frame == 0 ? 0 : word(frame + layout_.frame_code) & ~unwind::kPointerTag;
    if (code == 0 || !is(word(code + layout_.code_qualified_name), "Thread.start")) return 0;
    return word(frame + layout_.frame_locals) & ~unwind::kPointerTag;
  }

  // The attribute that is a string, of an object whose type says which attributes its objects have;
  // else 0.
  uint64_t text_attribute(uint64_t object, std::string_view name) {
    const uint64_t type = word(object + kObjectType);
    const uint64_t keys = type == 0 ? 0 : word(type + layout_.type_keys);
    const uint64_t values = values_of(object, type);
    uint8_t index_size = 0, kind = 0;
    if (keys == 0 || values == 0 || !memory_.read(keys + kKeysIndexSize, index_size) ||
        !memory_.read(keys + kKeysKind, kind) || kind != kSplitKeys ||
        index_size > kMostIndexSize) {
      return 0;
    }
    const uint64_t count = word(keys + kKeysCount);
    const uint64_t first = keys + kKeysIndexes + (uint64_t{1} << index_size);
    for (uint64_t i = 0; i < count && i < kMostKeys; ++i) {
      const uint64_t key = word(first + i * kKeySize);
      if (!is(key, name)) continue;
      const uint64_t value = word(values + i * sizeof(uint64_t));
      return value != 0 && word(value + kObjectType) == word(key + kObjectType) ? value : 0;
    }
    return 0;
  }

 private:
  uint64_t values_of(uint64_t object, uint64_t type) {
    using unwind::PythonValues;
    switch (layout_.values) {
      case PythonValues::kPointer: return word(object - 32);
      case PythonValues::kMarkedPointer: {
        const uint64_t pointer = word(object - 24);
        return (pointer & 1) != 0 ? pointer + 1 : 0;
      }
      case PythonValues::kNone: return 0;
      case PythonValues::kInline: break;
    }
    constexpr uint64_t kIsValid = 3, kHead = 8;
    const uint64_t values = object + word(type + kTypeBasicSize);
    uint8_t is_valid = 0;
    return memory_.read(values + kIsValid, is_valid) && is_valid == 1 ? values + kHead : 0;
  }

  PythonMemory& memory_;
  const unwind::PythonLayout& layout_;
};

// Appends a character. False: it has no room.
bool append_utf8(uint32_t character, std::span<char> out, size_t& size) {
  const unsigned more = character < 0x80 ? 0 : character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
  if (size + more + 1 >= out.size()) return false;
  constexpr uint8_t kFirst[] = {0, 0xc0, 0xe0, 0xf0};
  out[size++] = static_cast<char>(kFirst[more] | character >> 6 * more);
  for (unsigned i = more; i-- > 0;) {
    out[size++] = static_cast<char>(0x80 | (character >> 6 * i & 0x3f));
  }
  return true;
}

void copy(const unwind::PythonBytes& text, std::span<char> out) {
  const size_t width = text.width == 0 ? 1 : text.width;
  size_t size = 0;
  for (size_t i = 0; i + width <= text.size; i += width) {
    uint32_t character = 0;
    std::memcpy(&character, reinterpret_cast<const void*>(text.at + i), width);
    if (!append_utf8(character, out, size)) break;
  }
  out[size] = '\0';
}

}  // namespace

void name_of_new_thread(std::span<char> name) {
  name[0] = '\0';
  const unwind::PythonLayout* const layout = interpreter_layout();
  const uint64_t thread = layout != nullptr ? interpreter_thread() : 0;
  if (thread == 0 || layout->frame_locals == 0) return;
  constexpr unwind::StackBounds kNowhere{0, 0, true};
  ReadablePages pages{};
  PythonMemory memory(kNowhere, pages);
  Reader reader(memory, *layout);
  const uint64_t object = reader.thread_object(thread);
  const uint64_t string = object != 0 ? reader.text_attribute(object, "_name") : 0;
  unwind::PythonBytes text;
  if (string != 0 &&
      unwind::find_text(memory, *layout, string, name.size() * sizeof(uint32_t), text)) {
    copy(text, name);
  }
}

}  // namespace sampan::preload
