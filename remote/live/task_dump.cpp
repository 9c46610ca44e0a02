#include "remote/live/task_dump.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "base/text/json_writer.h"
#include "base/text/readable.h"
#include "sampler/process/proc_task.h"

namespace sampan::live {
namespace {

using sampler::AsyncioTask;
using sampler::AsyncioTasks;
using sampler::TaskState;

constexpr size_t kMostNames = 8;  // of the tasks that one awaits

std::string_view state_name(TaskState state) {
  switch (state) {
    case TaskState::kRunning: return "running";
    case TaskState::kReady: return "ready";
    case TaskState::kWaiting: break;
  }
  return "waiting";
}

std::string name_of(const AsyncioTask& task) {
  return task.name.empty() ? "(no name)" : fmt::format("\"{}\"", printable(task.name));
}

// "a", "b" and 98 more
std::string names_of(const AsyncioTasks& all, const std::vector<size_t>& tasks) {
  std::string names;
  for (size_t i = 0; i < std::min(tasks.size(), kMostNames); ++i) {
    if (i != 0) names += i + 1 == tasks.size() ? " and " : ", ";
    names += name_of(all.tasks[tasks[i]]);
  }
  if (tasks.size() > kMostNames)
    names += fmt::format(" and {} more", count(tasks.size() - kMostNames));
  return names;
}

std::string state_in_words(const AsyncioTasks& all, const AsyncioTask& task) {
  if (task.state == TaskState::kReady) return "ready, waiting for its turn";
  if (task.state == TaskState::kRunning) return "running";
  const std::string type = task.awaits.empty() ? "?" : printable(task.awaits);
  if (task.awaited_tasks.empty()) return fmt::format("waiting for {}", type);
  const std::string names = names_of(all, task.awaited_tasks);
  const bool is_task = type == "Task" && task.awaited_tasks.size() == 1;
  return is_task ? fmt::format("waiting for {}", names)
                 : fmt::format("waiting for {} ({})", names, type);
}

std::string task_lines(const AsyncioTasks& all, const AsyncioTask& task) {
  std::string lines = fmt::format("\n{}: {}\n", name_of(task), state_in_words(all, task));
  if (!task.awaited_by.empty()) {
    lines += fmt::format("    awaited by {}\n", names_of(all, task.awaited_by));
  }
  size_t number = 0;
  for (const sampler::TaskFrame& frame : task.frames) {
    lines += fmt::format("#{:<2} {}", number++, printable(frame.function));
    if (!frame.file.empty()) lines += fmt::format(" at {}:{}", printable(frame.file), frame.line);
    lines += "\n";
  }
  if (task.is_cut) lines += "    there is more, which cannot be read\n";
  if (task.frames.empty() && !task.is_cut) {
    lines += "    its coroutine is not written in Python, or has ended\n";
  }
  return lines;
}

std::string loop_line(const TaskDump& dump, size_t index) {
  const sampler::EventLoop& loop = dump.snapshot.tasks.loops[index];
  const std::string type = loop.type.empty() ? "?" : printable(loop.type);
  return loop.tid == 0 ? fmt::format("\nno thread: loop {}\n", type)
                       : fmt::format("\nTID {} \"{}\": loop {}\n", loop.tid,
                                     printable(dump.threads[index]), type);
}

std::string summary(const AsyncioTasks& all) {
  std::string words = plural(all.tasks.size(), "task");
  for (const TaskState state : {TaskState::kRunning, TaskState::kReady, TaskState::kWaiting}) {
    const auto number = std::ranges::count(all.tasks, state, &AsyncioTask::state);
    if (number != 0)
      words += fmt::format(", {} {}", count(static_cast<uint64_t>(number)), state_name(state));
  }
  return words;
}

// As id() tells in the program.
std::string id_of(const AsyncioTask& task) {
  return fmt::format("0x{:x}", task.id);
}

std::vector<std::string> ids_of(const AsyncioTasks& all, const std::vector<size_t>& tasks) {
  std::vector<std::string> ids;
  for (const size_t index : tasks) ids.push_back(id_of(all.tasks[index]));
  return ids;
}

void write_task(Json& json, const AsyncioTasks& all, const AsyncioTask& task) {
  const bool waits = task.state == TaskState::kWaiting;
  json.member("id", id_of(task));
  json.member("name", task.name);
  json.member("coroutine", task.coroutine);
  json.member("state", state_name(task.state));
  json.member("awaits", waits ? std::optional(task.awaits) : std::nullopt);
  json.member("awaited_tasks", ids_of(all, task.awaited_tasks));
  json.member("awaited_by", ids_of(all, task.awaited_by));
  json.member("complete", !task.is_cut);
  json.objects("stack", task.frames, [&](const sampler::TaskFrame& frame) {
    json.member("function", frame.function);
    json.member("file", frame.file);
    json.member("line", frame.line);
    json.member("column", frame.column);
  });
}

}  // namespace

TaskDump take_task_dump(pid_t pid) {
  TaskDump dump{dump_head(pid), sampler::take_task_snapshot(pid), {}};
  for (const sampler::EventLoop& loop : dump.snapshot.tasks.loops) {
    dump.threads.push_back(loop.tid == 0 ? "" : sampler::thread_name(pid, loop.tid).value_or(""));
  }
  return dump;
}

std::string tasks_as_text(const TaskDump& dump) {
  const AsyncioTasks& all = dump.snapshot.tasks;
  std::string text = head_as_text(dump.head, summary(all));
  if (dump.snapshot.stopped_ns != 0) {
    text += fmt::format("threads were stopped for {}\n",
                        duration(static_cast<double>(dump.snapshot.stopped_ns)));
  }
  for (size_t loop = 0, task = 0; loop < all.loops.size(); ++loop) {
    text += loop_line(dump, loop);
    for (; task < all.tasks.size() && all.tasks[task].loop == loop; ++task) {
      text += task_lines(all, all.tasks[task]);
    }
  }
  if (!dump.snapshot.problems.empty()) text += "\n";
  for (const std::string& problem : dump.snapshot.problems)
    text += fmt::format("note: {}\n", problem);
  return text;
}

std::string tasks_as_json(const TaskDump& dump) {
  const AsyncioTasks& all = dump.snapshot.tasks;
  Json json;
  json.object([&] {
    write_head(json, dump.head, dump.snapshot.stopped_ns, dump.snapshot.problems);
    json.objects("loops", all.loops, [&](const sampler::EventLoop& loop) {
      const auto index = static_cast<size_t>(&loop - all.loops.data());
      json.member("tid", loop.tid == 0 ? std::nullopt : std::optional(loop.tid));
      json.member("thread", dump.threads[index]);
      json.member("type", loop.type);
      json.key("tasks");
      json.array_of([&] {
        for (const AsyncioTask& task : all.tasks) {
          if (task.loop == index) json.object([&] { write_task(json, all, task); });
        }
      });
    });
  });
  return json.text();
}

}  // namespace sampan::live
