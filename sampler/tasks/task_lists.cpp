#include "sampler/tasks/task_lists.h"

#include <initializer_list>
#include <string_view>
#include <utility>

#include "unwind/asyncio_layout.h"

namespace sampan::sampler {
namespace {

constexpr uint64_t kReferent = 16;      // PyWeakReference
constexpr uint64_t kLoopOfHolder = 16;  // PyRunningLoopHolder, until 3.11
constexpr uint64_t kDictBeforeId = 24;  // of a thread: before its thread_id
constexpr size_t kMostTasks = 1 << 18;

class Finder {
 public:
  Finder(PythonObjects& objects, const PythonInterpreter& interpreter,
         const std::optional<AsyncioSection>& section)
      : objects_(objects), interpreter_(interpreter), section_(section) {}

  TaskLists find(std::span<const PythonThreadState> threads) {
    std::unordered_set<uint64_t> interpreters;
    for (const PythonThreadState& thread : threads) {
      add_running(thread);
      if (section_) add_list(thread.state + section_->thread_tasks);
      if (interpreters.insert(thread.interpreter).second) add_interpreter(thread.interpreter);
    }
    return std::move(found_);
  }

 private:
  void add_interpreter(Avma interpreter) {
    if (section_) add_list(interpreter + section_->interpreter_tasks);
    const uint64_t modules = objects_.word(interpreter + interpreter_.runtime_layout.modules);
    const uint64_t names = objects_.names_of_module(modules, "asyncio.tasks");
    if (names == 0) return;
    found_.has_asyncio = true;
    add_sets(names);
    for (const uint64_t task : objects_.values_of(objects_.item(names, "_current_tasks"))) {
      found_.current.insert(task);
    }
    // Where there are lists, it has sets of its own.
    if (section_) add_sets(objects_.names_of_module(modules, "_asyncio"));
  }

  void add_sets(uint64_t names) {
    for (const std::string_view name : {"_all_tasks", "_scheduled_tasks"}) {
      const uint64_t weak_set = objects_.item(names, name);
      if (objects_.is_a(weak_set, "WeakSet")) add_set(objects_.attribute(weak_set, "data"));
    }
    if (const uint64_t eager = objects_.item(names, "_eager_tasks"); eager != 0) add_set(eager);
  }

  // The set has weak references, or tasks.
  void add_set(uint64_t set) {
    const auto members = objects_.members_of_set(set);
    if (!members) found_.is_torn = true;
    if (!members) return;
    for (const uint64_t member : *members) {
      add(objects_.type_name(member).starts_with("weakref") ? objects_.word(member + kReferent)
                                                            : member);
    }
  }

  // A ring of nodes { next, previous } inside of the tasks; `head` is one of its own.
  void add_list(Avma head) {
    uint64_t before = head;
    for (uint64_t node = objects_.word(head); node != head; node = objects_.word(node)) {
      if (node == 0 || objects_.word(node + 8) != before || found_.tasks.size() == kMostTasks) {
        found_.is_torn = true;
        return;
      }
      add(node - section_->task_node);
      before = node;
    }
  }

  void add(uint64_t task) {
    if (task != 0 && found_.tasks.size() < kMostTasks) found_.tasks.insert(task);
  }

  void add_running(const PythonThreadState& thread) {
    const unwind::AsyncioLayout& layout = unwind::asyncio_layout(interpreter_.layout.version);
    uint64_t loop = 0;
    if (section_) {
      loop = objects_.word(thread.state + section_->running_loop);
      const uint64_t task = objects_.word(thread.state + section_->running_task);
      if (task != 0) found_.current.insert(task);
    } else if (layout.running_loop != 0) {
      loop = objects_.word(thread.state + layout.running_loop);
    } else {
      const uint64_t dict = thread.state + interpreter_.runtime_layout.thread_id - kDictBeforeId;
      loop = objects_.item(objects_.word(dict), "__asyncio_running_event_loop__");
      if (objects_.is_a(loop, "_RunningLoopHolder")) loop = objects_.word(loop + kLoopOfHolder);
    }
    if (loop != 0 && !objects_.is_a(loop, "NoneType")) found_.loops.emplace(loop, thread);
  }

  PythonObjects& objects_;
  const PythonInterpreter& interpreter_;
  const std::optional<AsyncioSection>& section_;
  TaskLists found_;
};

}  // namespace

TaskLists find_task_lists(PythonObjects& objects, const PythonInterpreter& interpreter,
                          std::span<const PythonThreadState> threads,
                          const std::optional<AsyncioSection>& section) {
  return Finder(objects, interpreter, section).find(threads);
}

}  // namespace sampan::sampler
