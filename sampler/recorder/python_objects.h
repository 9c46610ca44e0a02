// Objects of an interpreter in another process that stands still: texts, dictionaries, lists, sets, and
// the attributes of instances. The memory is hostile: whatever is not there, or not what it
// should be, is nothing, and no container has more members than a bound.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sampler/process/process_pages.h"
#include "unwind/python_layout.h"

namespace sampan::sampler {

class PythonObjects {
 public:
  PythonObjects(ProcessPages& memory, const unwind::PythonLayout& layout)
      : memory_(memory), layout_(layout) {}

  ProcessPages& memory() { return memory_; }
  const unwind::PythonLayout& layout() const { return layout_; }

  // 0: none.
  uint64_t word(uint64_t at) { return at == 0 ? 0 : value<uint64_t>(at).value_or(0); }
  template <typename T>
  std::optional<T> value(uint64_t at) {
    T value{};
    return memory_.read(at, value) ? std::optional(value) : std::nullopt;
  }

  // As the interpreter has it: with the module's name if it is written in C. Empty: no object.
  const std::string& type_name(uint64_t object);
  bool is_a(uint64_t object, std::string_view type) { return type_name(object) == type; }
  // The type, and those that it is derived from (the first of several).
  std::vector<uint64_t> types_of(uint64_t object);
  const std::string& name_of_type(uint64_t type);

  // The text of a str; nothing for other objects.
  std::optional<std::string> text(uint64_t object);
  bool is_text(uint64_t object, std::string_view text);

  // The dictionary of a module that is imported, by that of all modules; 0: none.
  uint64_t names_of_module(uint64_t modules, std::string_view module);
  // The value of a dictionary for a text; 0: none.
  uint64_t item(uint64_t dictionary, std::string_view key);
  // The dictionary has keys of its own, unlike those of instances.
  std::vector<uint64_t> values_of(uint64_t dictionary);
  std::vector<uint64_t> items_of_list(uint64_t list);
  std::vector<uint64_t> items_of_tuple(uint64_t tuple);
  // Nothing: no set, or one that is being changed.
  std::optional<std::vector<uint64_t>> members_of_set(uint64_t set);
  // The attribute of an instance whose class is written in Python, or has a __dict__; 0: none.
  uint64_t attribute(uint64_t object, std::string_view name);

 private:
  // The names of a dictionary, or of the attributes of a type's instances.
  struct Keys {
    uint64_t first = 0;  // of the entries
    uint64_t count = 0;
    uint64_t size = 0;  // of an entry
    uint64_t key = 0;   // in it; the value is behind it, unless values stand elsewhere
  };
  Keys keys_at(uint64_t keys);
  uint64_t find(uint64_t keys, uint64_t values, std::string_view name);
  std::vector<uint64_t> items_at(uint64_t first, uint64_t count);

  ProcessPages& memory_;
  const unwind::PythonLayout& layout_;
  std::unordered_map<uint64_t, std::string> type_names_;
};

}  // namespace sampan::sampler
