#include "sampler/tasks/asyncio_tasks.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/text/readable.h"
#include "sampler/tasks/future_reader.h"
#include "sampler/tasks/task_lists.h"

namespace sampan::sampler {
namespace {

// With what the interpreter states of itself.
unwind::AsyncioLayout layout_of(uint32_t version, const std::optional<AsyncioSection>& section) {
  unwind::AsyncioLayout layout = unwind::asyncio_layout(version);
  if (!section) return layout;
  layout.task_name = static_cast<uint16_t>(section->task_name);
  layout.task_coroutine = static_cast<uint16_t>(section->task_coroutine);
  layout.task_state = static_cast<uint16_t>(section->task_awaited_by + sizeof(uint64_t));
  return layout;
}

class Reader {
 public:
  Reader(ProcessPages& memory, const PythonInterpreter& interpreter,
         const std::optional<AsyncioSection>& section)
      : objects_(memory, interpreter.layout),
        interpreter_(interpreter),
        section_(section),
        asyncio_(layout_of(interpreter.layout.version, section)),
        futures_(objects_, asyncio_),
        coroutines_(objects_, asyncio_) {}

  AsyncioTasks read(std::span<const PythonThreadState> threads) {
    const TaskLists lists = find_task_lists(objects_, interpreter_, threads, section_);
    result_.has_asyncio = lists.has_asyncio;
    result_.is_torn = lists.is_torn;
    for (const uint64_t task : lists.tasks) {
      const size_t before = known_.size();
      if (!objects_.memory().is_cut()) add(task, lists);
      if (!objects_.memory().is_cut()) continue;
      known_.resize(before);  // the one that was being read
      ++result_.not_read;
    }
    sort();
    find_who_awaits_whom();
    return std::move(result_);
  }

 private:
  struct Known {
    AsyncioTask task;
    uint64_t waiter;             // what it waits for
    std::vector<uint64_t> ends;  // futures that end with it
  };

  void add(uint64_t id, const TaskLists& lists) {
    const std::optional<Future> future = futures_.read(id);
    if (objects_.memory().is_cut()) return;
    if (!future || future->coroutine == 0) {
      ++result_.unknown[objects_.type_name(id)];
      return;
    }
    if (!future->is_pending) return;
    const auto runs_loop = lists.loops.find(future->loop);
    const PythonThreadState* const thread =
        runs_loop != lists.loops.end() ? &runs_loop->second : nullptr;
    CoroutineStack stack = coroutines_.read(future->coroutine, thread);
    AsyncioTask task{.id = id,
                     .name = futures_.name_of(future->name),
                     .coroutine = coroutines_.name_of(future->coroutine),
                     .state = TaskState::kReady,
                     .frames = std::move(stack.frames),
                     .is_cut = stack.is_cut,
                     .loop = loop_of(future->loop, thread),
                     .awaits = {},
                     .awaited_tasks = {},
                     .awaited_by = {}};
    if (stack.runs || lists.current.contains(id)) {
      task.state = TaskState::kRunning;
    } else if (future->waiter != 0) {
      const std::optional<Future> waiter = futures_.read(future->waiter);
      if (!waiter || waiter->is_pending) {
        task.state = TaskState::kWaiting;
        task.awaits = short_type_name(future->waiter);
      }
    }
    std::vector<uint64_t> ends = futures_.ended_by(*future);
    ends.push_back(id);
    known_.push_back({std::move(task), future->waiter, std::move(ends)});
  }

  // As programs write it.
  std::string short_type_name(uint64_t object) {
    constexpr std::string_view kModule = "_asyncio.";
    const std::string& name = objects_.type_name(object);
    return name.starts_with(kModule) ? name.substr(kModule.size()) : name;
  }

  size_t loop_of(uint64_t loop, const PythonThreadState* thread) {
    const auto [place, is_new] = loops_.try_emplace(loop, result_.loops.size());
    if (is_new)
      result_.loops.push_back({thread != nullptr ? thread->tid : 0, objects_.type_name(loop)});
    return place->second;
  }

  void sort() {
    std::vector<size_t> order(result_.loops.size()), place(order.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    // Those that do not run come last.
    std::ranges::sort(order, {}, [&](size_t i) {
      const pid_t tid = result_.loops[i].tid;
      return std::pair(tid == 0, tid);
    });
    std::vector<EventLoop> loops;
    for (size_t i = 0; i < order.size(); ++i) {
      place[order[i]] = i;
      loops.push_back(result_.loops[order[i]]);
    }
    result_.loops = std::move(loops);
    for (Known& known : known_) known.task.loop = place[known.task.loop];
    std::ranges::sort(known_, [](const Known& a, const Known& b) {
      if (a.task.loop != b.task.loop) return a.task.loop < b.task.loop;
      if (natural_less(a.task.name, b.task.name)) return true;
      return !natural_less(b.task.name, a.task.name) && a.task.id < b.task.id;
    });
  }

  // A task awaits another one if that is what it waits for, or if the other one, when it is done, ends
  // what it waits for: gather, wait, shield, a group of tasks.
  void find_who_awaits_whom() {
    std::unordered_multimap<uint64_t, size_t> waiting;  // tasks, by what they wait for
    for (size_t i = 0; i < known_.size(); ++i) {
      if (known_[i].task.state == TaskState::kWaiting) waiting.emplace(known_[i].waiter, i);
    }
    for (size_t i = 0; i < known_.size(); ++i) {
      std::vector<size_t>& awaited_by = known_[i].task.awaited_by;
      for (const uint64_t future : known_[i].ends) {
        const auto [first, last] = waiting.equal_range(future);
        for (auto it = first; it != last; ++it) {
          if (it->second != i) awaited_by.push_back(it->second);
        }
      }
      std::ranges::sort(awaited_by);
      awaited_by.erase(std::unique(awaited_by.begin(), awaited_by.end()), awaited_by.end());
      for (const size_t waits : awaited_by) known_[waits].task.awaited_tasks.push_back(i);
    }
    for (Known& known : known_) result_.tasks.push_back(std::move(known.task));
  }

  PythonObjects objects_;
  const PythonInterpreter& interpreter_;
  const std::optional<AsyncioSection>& section_;
  const unwind::AsyncioLayout asyncio_;
  FutureReader futures_;
  CoroutineReader coroutines_;
  AsyncioTasks result_;
  std::vector<Known> known_;
  std::unordered_map<uint64_t, size_t> loops_;
};

}  // namespace

AsyncioTasks read_asyncio_tasks(ProcessPages& memory, const PythonInterpreter& interpreter,
                                std::span<const PythonThreadState> threads,
                                const std::optional<AsyncioSection>& section) {
  return Reader(memory, interpreter, section).read(threads);
}

}  // namespace sampan::sampler
