// Objects of an interpreter, of any version that has a layout, in memory of the test: tasks of asyncio
// and all that leads to them.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sampler/process/process_pages.h"
#include "sampler/process/python_interpreter.h"
#include "sampler/process/python_threads.h"
#include "sampler/tasks/asyncio_section.h"
#include "unwind/asyncio_layout.h"

namespace sampan::sampler {

class MadeTasks {
 public:
  static constexpr uint64_t kBase = 0x7f0000000000;
  static constexpr size_t kSize = 1 << 18;

  explicit MadeTasks(uint32_t version) : asyncio(unwind::asyncio_layout(version)), memory_(kSize) {
    interpreter.is_known = true;
    interpreter.layout = *unwind::python_layout(version);
    interpreter.runtime_layout = {.modules = 64, .thread_id = 152};
    if (version >= 0x030e) {
      section = AsyncioSection{.task_name = asyncio.task_name,
                               .task_awaited_by = asyncio.task_state - 8u,
                               .task_coroutine = asyncio.task_coroutine,
                               .task_node = 168,
                               .interpreter_tasks = 96,
                               .thread_tasks = 256,
                               .running_loop = 272,
                               .running_task = 280};
    }
    thread = {1, Avma::at(allocate(512)), Avma::at(allocate(256))};
    if (section) {
      for (const uint64_t head :
           {uint64_t{thread.state} + 256, uint64_t{thread.interpreter} + 96}) {
        put(head, head);
        put(head + 8, head);
      }
    }
  }

  uint64_t type(std::string_view name, uint64_t base = 0) {
    uint64_t& known = types_[std::pair(std::string(name), base)];
    if (known == 0) {
      const uint64_t text = allocate(name.size() + 1);
      known = allocate(1024);
      std::memcpy(at(text), name.data(), name.size());
      put(known + 24, text);
      put(known + 256, base);
    }
    return known;
  }
  uint64_t object(std::string_view type_name, size_t size = 64) {
    const uint64_t made = allocate(size);
    put(made + 8, type(type_name));
    return made;
  }
  uint64_t none() { return none_ == 0 ? none_ = object("NoneType") : none_; }
  uint64_t text(std::string_view characters) {
    const uint64_t made = object("str", interpreter.layout.string_ascii + characters.size() + 1);
    put(made + 16, characters.size());
    put(made + 24, made);  // its hash
    put(made + 32, 1 << 2 | 1 << 5 | 1 << 6);
    std::memcpy(at(made + interpreter.layout.string_ascii), characters.data(), characters.size());
    return made;
  }
  uint64_t bytes(std::string_view content) {
    const uint64_t made = object("bytes", 32 + content.size() + 1);
    put(made + 16, content.size());
    std::memcpy(at(made + 32), content.data(), content.size());
    return made;
  }
  uint64_t dictionary(const std::vector<std::pair<uint64_t, uint64_t>>& items) {
    const uint64_t made = object("dict"), keys = allocate(64 + 24 * items.size());
    put(made + 32, keys);
    const bool is_old = interpreter.layout.version < 0x030b;
    put(keys + (is_old ? 8 : 9), is_old ? 8 : 3, 1);  // so many places, each of a byte
    put(keys + (is_old ? 32 : 24), items.size());
    uint64_t entry = keys + (is_old ? 48 : 40);
    for (const auto& [key, value] : items) {
      put(entry + 8, key);
      put(entry + 16, value);
      entry += 24;
    }
    return made;
  }
  // An instance whose attributes are in a dictionary, as those of classes with a base in C have them.
  uint64_t instance(std::string_view type_name, uint64_t attributes) {
    const uint64_t made = object(type_name);
    put(type(type_name) + 288, 40);
    put(made + 40, attributes);
    return made;
  }
  uint64_t sequence(std::string_view kind, const std::vector<uint64_t>& items) {
    const uint64_t made = object(kind, 64 + 8 * items.size());
    uint64_t place = made + (interpreter.layout.version < 0x030e ? 24 : 32);
    put(made + 16, items.size());
    if (kind == "list") {
      place = allocate(8 * items.size() + 8);
      put(made + 24, place);
    }
    for (const uint64_t item : items) put(std::exchange(place, place + 8), item);
    return made;
  }
  uint64_t set(const std::vector<uint64_t>& members) {
    const uint64_t made = object("set", 256), table = allocate(16 * 16);
    put(made + 24, members.size());
    put(made + 32, 15);
    put(made + 40, table);
    for (size_t i = 0; i < members.size(); ++i) {
      put(table + 32 * i, members[i]);
      put(table + 32 * i + 8, members[i] >> 4);
    }
    put(table + 16, none());  // a place that was used once
    put(table + 24, UINT64_MAX);
    return made;
  }

  // In its line 1, and in `line` at the instruction that it stands at.
  uint64_t code(std::string_view name, uint8_t line) {
    const unwind::PythonLayout& layout = interpreter.layout;
    const uint64_t made = object("code", 512), string = text(name);
    put(made + layout.code_constants, string);
    put(made + layout.code_names, string);
    put(made + layout.code_file, text("/srv/a.py"));
    put(made + layout.code_name, string);
    put(made + layout.code_qualified_name, string);
    put(made + layout.code_first_line, 1, 4);
    put(made + layout.code_line_table, bytes(line_table(static_cast<char>(line - 1))));
    return made;
  }
  // Suspended at its first await, of `awaited`.
  uint64_t coroutine(std::string_view name, uint64_t awaited, uint8_t line = 9,
                     std::string_view kind = "coroutine") {
    const unwind::PythonLayout& layout = interpreter.layout;
    const uint64_t made = object(kind, 512), its_code = code(name, line);
    put(made + asyncio.coroutine_name, text(name));
    uint64_t frame = made + asyncio.coroutine_frame;
    if (asyncio.coroutine_frame == 0) {
      frame = allocate(512);
      put(made + 16, frame);
    }
    put(frame + layout.frame_code, its_code);
    const uint64_t values = frame + asyncio.frame_locals;
    put(values + 8, awaited);
    switch (asyncio.value_stack) {
      case unwind::ValueStack::kEnd: put(frame + asyncio.frame_top, values + 16); break;
      case unwind::ValueStack::kDepth: put(frame + asyncio.frame_values, values); [[fallthrough]];
      case unwind::ValueStack::kIndex: put(frame + asyncio.frame_top, 2, 4); break;
    }
    uint64_t instructions = its_code + layout.code_instructions;
    if (layout.index_bytes != 0) {
      const char content[] = {1, 0, 72, 0};
      instructions = bytes({content, sizeof content}) + 32;
      put(its_code + 48, instructions - 32);
      put(frame + layout.frame_instruction, 0, 4);
    } else {
      put(frame + layout.frame_instruction, instructions);
      put(instructions + 3, 3, 1);
    }
    set_state(made, -1);
    return made;
  }
  void set_state(uint64_t coroutine, int8_t state) {
    if (asyncio.delegation == unwind::Delegation::kOpcode && asyncio.coroutine_state != 0) {
      put(coroutine + asyncio.coroutine_state, state == asyncio.running, 1);
    } else if (asyncio.coroutine_state != 0) {
      put(coroutine + asyncio.coroutine_state, static_cast<uint8_t>(state), 1);
    } else {
      put(word(coroutine + 16) + asyncio.frame_state, static_cast<uint8_t>(state), 1);
    }
  }
  uint64_t future(std::string_view type_name = "_asyncio.Future") { return object(type_name, 256); }
  uint64_t future_iterator(uint64_t future) {
    const uint64_t made = object("_asyncio.FutureIter");
    put(made + 16, future);
    return made;
  }
  uint64_t task(std::string_view name, uint64_t coroutine, uint64_t loop, uint64_t waiter) {
    const uint64_t made = future("_asyncio.Task");
    put(made + 16, loop);
    put(made + asyncio.task_name, text(name));
    put(made + asyncio.task_coroutine, coroutine);
    put(made + asyncio.task_coroutine - 8, waiter);
    tasks_.push_back(made);
    return made;
  }

  // Puts the tasks where the interpreter has them. `running`: 0: none; `loop`: of the thread.
  void publish(uint64_t loop, uint64_t running) {
    std::vector<uint64_t> references;
    for (const uint64_t task : tasks_) {
      if (section) {
        append(thread.state + section->thread_tasks, task + section->task_node);
      } else {
        references.push_back(object("weakref"));
        put(references.back() + 16, task);
      }
    }
    data = set(references);
    const uint64_t weak_set = instance("WeakSet", dictionary({{text("data"), data}}));
    std::vector<std::pair<uint64_t, uint64_t>> current;
    if (running != 0) current.emplace_back(loop, running);
    const bool is_old = interpreter.layout.version < 0x030c;
    const uint64_t names =
        dictionary({{text(is_old ? "_all_tasks" : "_scheduled_tasks"), weak_set},
                    {text("_eager_tasks"), set({})},
                    {text("_current_tasks"), dictionary(section ? decltype(current){} : current)}});
    const uint64_t module = object("module");
    put(module + 16, names);
    put(thread.interpreter + interpreter.runtime_layout.modules,
        dictionary({{text("sys"), none()}, {text("asyncio.tasks"), module}}));
    if (section) {
      put(thread.state + section->running_loop, loop);
      put(thread.state + section->running_task, running);
    } else if (asyncio.running_loop != 0) {
      put(thread.state + asyncio.running_loop, loop);
    } else {
      put(thread.state + interpreter.runtime_layout.thread_id - 24,
          dictionary({{text("__asyncio_running_event_loop__"), loop}}));
    }
  }

  void put(uint64_t avma, uint64_t value, size_t size = 8) { std::memcpy(at(avma), &value, size); }
  uint64_t word(uint64_t avma) {
    uint64_t value = 0;
    std::memcpy(&value, at(avma), sizeof value);
    return value;
  }
  bool copy(uint64_t page, std::span<std::byte, ProcessPages::kPageSize> to) {
    if (page - kBase >= kSize) return false;
    std::memcpy(to.data(), at(page), ProcessPages::kPageSize);
    return true;
  }
  ProcessPages pages() {
    return {[this](uint64_t page, std::span<std::byte, ProcessPages::kPageSize> to) {
              return copy(page, to);
            },
            [] { return true; }};
  }
  std::vector<uint8_t>& memory() { return memory_; }
  size_t used() const { return used_; }

  PythonInterpreter interpreter;
  const unwind::AsyncioLayout& asyncio;
  std::optional<AsyncioSection> section;
  PythonThreadState thread{};
  uint64_t data = 0;  // the set of references

 private:
  uint8_t* at(uint64_t avma) { return &memory_[avma - kBase]; }
  uint64_t allocate(size_t size) {
    used_ = (used_ + 15) / 16 * 16;
    return kBase + std::exchange(used_, used_ + size);
  }
  void append(uint64_t head, uint64_t node) {
    const uint64_t last = word(head + 8);
    put(node, head);
    put(node + 8, last);
    put(last, node);
    put(head + 8, node);
  }
  // One entry, for all instructions.
  std::string line_table(char more) const {
    switch (interpreter.layout.line_table) {
      case wire::PythonLineTable::kLnotab: return {0, more};
      case wire::PythonLineTable::kRanges: return {100, more};
      default: return {static_cast<char>(0x80 | 13 << 3 | 7), static_cast<char>(more * 2)};
    }
  }

  std::vector<uint8_t> memory_;
  size_t used_ = ProcessPages::kPageSize;
  std::map<std::pair<std::string, uint64_t>, uint64_t> types_;
  std::vector<uint64_t> tasks_;
  uint64_t none_ = 0;
};

}  // namespace sampan::sampler
