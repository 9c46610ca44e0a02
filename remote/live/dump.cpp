// sampan dump: every thread of a process, what it waits in and its stack, now.
#include "cli/dump.h"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <unordered_map>

#include "attach/permission.h"
#include "attach/proc_task.h"
#include "base/nearest.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "cli/substitutes.h"
#include "recording/reader.h"
#include "sampler/module_map.h"
#include "sampler/program.h"
#include "symbolizer/symbolizer.h"

namespace sampan::cli {
namespace {

struct DumpOptions {
  std::string process;
  std::vector<std::string> threads;  // names or tids; empty: all
  bool json = false;
};

bool is_called(const std::string& word, pid_t tid, const std::string& name) {
  return word == name || word == std::to_string(tid);
}

// Throws for a word that means no thread.
void check_threads(const std::vector<std::string>& words, const attach::Snapshot& snapshot) {
  for (const std::string& word : words) {
    std::vector<std::string> known;
    bool found = false;
    for (const attach::ThreadSnapshot& thread : snapshot.threads) {
      found = found || is_called(word, thread.tid, thread.name);
      known.push_back(thread.name);
      known.push_back(std::to_string(thread.tid));
    }
    if (!found) throw Error("no thread is called '{}'{}", word, did_you_mean(word, known));
  }
}

std::string now_in_words() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(ms / 1000), ms % 1000);
}

// A recording without samples: only its frames are of interest.
recording::Recording record_frames(const attach::Snapshot& snapshot,
                                   std::vector<std::vector<uint32_t>>& locations) {
  recording::Recording recording;
  sampler::ModuleMap modules;
  for (const sampler::ModuleLoadRecord& load : snapshot.modules) {
    modules.load(load, static_cast<uint32_t>(recording.modules.size()));
    recording.modules.push_back(
        {load.path, load.build_id, load.start_avma - load.bias, load.end_avma - load.bias});
  }
  std::unordered_map<uint64_t, uint32_t> rows;  // by AVMA
  for (const attach::ThreadSnapshot& thread : snapshot.threads) {
    std::vector<uint32_t>& of_thread = locations.emplace_back();
    for (const uint64_t avma : thread.frames) {
      const auto next = static_cast<uint32_t>(recording.frames.size());
      const auto [row, is_new] = rows.try_emplace(avma, next);
      if (is_new) recording.frames.push_back(modules.lookup(avma, 0));
      of_thread.push_back(row->second);
    }
  }
  return recording;
}

}  // namespace

Dump take_dump(pid_t pid, const std::vector<std::string>& threads,
               const std::function<void(size_t done, size_t all)>& progress) {
  if (const std::string why = attach::why_not_profilable(pid); !why.empty()) {
    throw Error("{}", why);
  }
  Dump result{};
  result.pid = pid;
  result.executable = sampler::executable_of(pid);
  result.command = attach::command_line_of(pid);
  result.time = now_in_words();
  attach::Snapshot snapshot = attach::take_snapshot(pid, [&](pid_t tid, const std::string& name) {
    return threads.empty() ||
           std::any_of(threads.begin(), threads.end(),
                       [&](const std::string& word) { return is_called(word, tid, name); });
  });
  check_threads(threads, snapshot);
  std::erase_if(snapshot.threads,
                [](const attach::ThreadSnapshot& thread) { return !thread.wanted; });
  result.profile = profile::load(record_frames(snapshot, result.locations));
  symbolizer::Options symbolizing;
  symbolizing.progress = progress;
  symbolizing.substitutes = substitutes(snapshot.hidden);
  result.notes = symbolizer::symbolize(result.profile, symbolizing).problems;
  result.notes.insert(result.notes.end(), snapshot.problems.begin(), snapshot.problems.end());
  result.threads = std::move(snapshot.threads);
  result.stopped_ns = snapshot.stopped_ns;
  return result;
}

namespace {

int dump(const DumpOptions& options) {
  const pid_t pid = attach::find_process(options.process);
  const auto take = [&] {
    Progress progress;
    return take_dump(pid, options.threads, [&](size_t done, size_t all) {
      progress.show("Finding function names", done, all);
    });
  };
  const Dump result = take();  // and the line of progress is gone
  fmt::print("{}", options.json ? dump_as_json(result) : dump_as_text(result));
  return 0;
}

}  // namespace

void add_dump(CLI::App& app, Commands& commands) {
  CLI::App* const command =
      app.add_subcommand("dump", "The threads of a process and their stacks, now");
  const auto options = std::make_shared<DumpOptions>();
  command->add_option("PID", options->process, "A process, or the name of the only one that has it")
      ->required();
  command->add_option("--thread", options->threads, "Only threads of this name or tid (repeatable)")
      ->type_name("NAME|TID")
      ->allow_extra_args(false);
  command->add_flag("--json", options->json, "the same as data: see docs/dump-json.md");
  commands.actions[command] = [options] { return dump(*options); };
}

}  // namespace sampan::cli
