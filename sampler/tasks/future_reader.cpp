#include "sampler/tasks/future_reader.h"

#include <fmt/format.h>

namespace sampan::sampler {
namespace {

// FutureObj, the same in all versions that have a layout.
constexpr uint64_t kLoop = 16, kFirstCallback = 24, kCallbacks = 40;
constexpr uint64_t kPartialArguments = 24, kMethodSelf = 24, kCellContent = 16;

}  // namespace

// A class that a program derives from Task or Future has the name that it gives it.
FutureReader::Kind FutureReader::kind_of(uint64_t object, bool& is_task) {
  is_task = false;
  bool is_future = false;
  for (const uint64_t type : objects_.types_of(object)) {
    const std::string& name = objects_.name_of_type(type);
    if (name == "_asyncio.Task" || name == "_asyncio.Future") {
      is_task = name == "_asyncio.Task";
      return Kind::kInC;
    }
    is_task |= name == "Task";
    is_future |= name == "Future";
  }
  return is_future || is_task ? Kind::kInPython : Kind::kOther;
}

std::optional<Future> FutureReader::read(uint64_t object) {
  bool is_task = false;
  switch (kind_of(object, is_task)) {
    case Kind::kInC: return in_c(object, is_task);
    case Kind::kInPython: return in_python(object, is_task);
    case Kind::kOther: break;
  }
  return std::nullopt;
}

Future FutureReader::in_c(uint64_t object, bool is_task) {
  Future future;
  future.is_pending = objects_.value<int32_t>(object + asyncio_.task_state) == 0;
  future.loop = objects_.word(object + kLoop);
  if (const uint64_t first = unless_none(objects_.word(object + kFirstCallback)); first != 0) {
    future.callbacks.push_back(first);
  }
  add_callbacks(objects_.word(object + kCallbacks), future.callbacks);
  if (!is_task) return future;
  future.name = objects_.word(object + asyncio_.task_name);
  future.coroutine = objects_.word(object + asyncio_.task_coroutine);
  future.waiter = unless_none(objects_.word(object + asyncio_.task_coroutine - sizeof(uint64_t)));
  return future;
}

Future FutureReader::in_python(uint64_t object, bool is_task) {
  Future future;
  const uint64_t state = objects_.attribute(object, "_state");
  future.is_pending = state == 0 || objects_.is_text(state, "PENDING");  // 0: its class has it
  future.loop = objects_.attribute(object, "_loop");
  add_callbacks(objects_.attribute(object, "_callbacks"), future.callbacks);
  if (!is_task) return future;
  future.name = objects_.attribute(object, "_name");
  future.coroutine = objects_.attribute(object, "_coro");
  future.waiter = unless_none(objects_.attribute(object, "_fut_waiter"));
  return future;
}

// A list of pairs: the callback, and its context.
void FutureReader::add_callbacks(uint64_t list, std::vector<uint64_t>& callbacks) {
  for (const uint64_t pair : objects_.items_of_list(list)) {
    const std::vector<uint64_t> items = objects_.items_of_tuple(pair);
    if (!items.empty()) callbacks.push_back(items.front());
  }
}

// "Task-1": the name that a task has unless it is given one. Until somebody asks for it, 3.12 and later
// keep the number alone (Include/cpython/longintrepr.h).
std::string FutureReader::name_of(uint64_t name) {
  if (const auto text = objects_.text(name)) return *text;
  if (!objects_.is_a(name, "int")) return {};
  constexpr uint64_t kDigits = 24;
  constexpr unsigned kDigitBits = 30, kTagBits = 3;
  const uint64_t size = objects_.word(name + 16) >> kTagBits;
  const uint64_t digits = objects_.word(name + kDigits);
  if (size > 2) return {};
  uint64_t number = digits & UINT32_MAX;
  if (size == 2) number |= digits >> 32 << kDigitBits;
  return fmt::format("Task-{}", number);
}

// asyncio's own callbacks have them as a variable of the function around them (gather, wait, shield), as an
// argument (wait_for until 3.11), or their object has it (TaskGroup).
std::vector<uint64_t> FutureReader::ended_by(const Future& future) {
  std::vector<uint64_t> ended;
  for (const uint64_t callback : future.callbacks) {
    const std::string& type = objects_.type_name(callback);
    if (type == "function") {
      for (const uint64_t cell :
           objects_.items_of_tuple(objects_.word(callback + asyncio_.function_closure))) {
        if (objects_.is_a(cell, "cell")) ended.push_back(objects_.word(cell + kCellContent));
      }
    } else if (type == "functools.partial") {
      const auto arguments = objects_.items_of_tuple(objects_.word(callback + kPartialArguments));
      ended.insert(ended.end(), arguments.begin(), arguments.end());
    } else if (type == "method") {
      ended.push_back(
          objects_.attribute(objects_.word(callback + kMethodSelf), "_on_completed_fut"));
    }
  }
  std::erase(ended, 0);
  return ended;
}

}  // namespace sampan::sampler
