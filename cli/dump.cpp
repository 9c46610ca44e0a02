// sampan dump: the current state and stack of each thread of a process, or of each task of asyncio.
#include <fmt/core.h>

#include <memory>

#include "cli/command.h"
#include "cli/recorded_profile.h"
#include "cli/recording_options.h"
#include "remote/live/dump.h"
#include "remote/live/task_dump.h"
#include "sampler/inspect/permission.h"

namespace sampan::cli {
namespace {

struct DumpOptions {
  std::string process;
  std::vector<std::string> threads;  // names or tids; empty: all
  profile::PythonFrames python = profile::PythonFrames::kMixed;
  bool tasks = false;
  bool json = false;
};

int dump(const DumpOptions& options) {
  if (options.process.empty()) throw UsageError("dump: which process? sampan dump PID");
  const pid_t pid = sampler::find_process(options.process);
  if (options.tasks) {
    const live::TaskDump tasks = live::take_task_dump(pid);
    fmt::print("{}", options.json ? live::tasks_as_json(tasks) : live::tasks_as_text(tasks));
    return 0;
  }
  const auto take = [&] {
    Progress progress;
    return live::take_dump(pid, options.threads, options.python, [&](size_t done, size_t all) {
      progress.show("Finding function names", done, all);
    });
  };
  const live::Dump result = take();  // ends the progress line
  fmt::print("{}", options.json ? live::dump_as_json(result) : live::dump_as_text(result));
  return 0;
}

}  // namespace

void add_dump(CLI::App& app, Commands& commands) {
  CLI::App* const command =
      app.add_subcommand("dump", "Print the threads of a process and their stacks");
  const auto options = std::make_shared<DumpOptions>();
  command
      ->add_option("-p,--pid,PID", options->process,
                   "A pid, or the name of a process if it is unique")
      ->type_name("PID");
  CLI::Option* const threads = command
                                   ->add_option("-t,--thread", options->threads,
                                                "Only threads with this name or tid (repeatable)")
                                   ->type_name("NAME|TID")
                                   ->allow_extra_args(false);
  command
      ->add_flag("--tasks", options->tasks,
                 "Print the tasks of asyncio instead: what each does, and what it waits for")
      ->excludes(threads);
  add_python_option(*command, options->python);
  command->add_flag("--json", options->json, "Print JSON, see docs/dump-json.md");
  set_examples(*command,
               {"sampan dump PID", "sampan dump -t worker-1 PID", "sampan dump --tasks PID"},
               "sampan dump [OPTIONS] PID");
  commands.actions[command] = [options] { return dump(*options); };
}

}  // namespace sampan::cli
